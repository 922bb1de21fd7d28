//===- ContentMarks.h - what users spell stays text -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chat template writes special tokens by their spelling (<|im_end|>). What a
// user, or a tool, has written may spell them, too, and would end its turn and
// begin another one's in the prompt. So a mark goes in front of each spelling
// in the contents of a conversation, and is taken out of the rendered prompt
// again: the token's spelling behind it is text.
//
//   ContentMarks marks(model.specialSpellings());
//   marks.putInto({&messages, &tools});                   // and render them
//   std::vector<size_t> literal = marks.takeOutOf(prompt);
//   tokenizer.encode(prompt, false, true, literal);
//
// A mark is a character that stands for none (U+FDD0 to U+FDEF) and that the
// contents do not have, so that templates hand it on as any letter.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_CONTENTMARKS_H
#define SLUICE_RUNTIME_OPENAI_CONTENTMARKS_H

#include "runtime/text/ByteTrie.h"
#include "runtime/text/Tokenizer.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::openai {

/// The spellings of a tokenizer's special tokens. Immutable, thread-safe.
class SpecialSpellings {
public:
  SpecialSpellings() = default;
  explicit SpecialSpellings(const text::Tokenizer &tokenizer);

  /// Whether one begins at the place.
  bool beginsAt(std::string_view text, size_t at) const;

private:
  text::ByteTrie trie;
};

/// For one prompt.
class ContentMarks {
public:
  /// `spellings` outlives it; null: nothing is marked.
  explicit ContentMarks(const SpecialSpellings *spellings)
      : spellings(spellings) {}

  /// Marks the spellings in all texts of the values, at any depth. Once.
  void putInto(std::initializer_list<nlohmann::ordered_json *> values);

  /// The offsets in the prompt, ascending, at which marks have been.
  std::vector<size_t> takeOutOf(std::string &prompt) const;

private:
  using Json = nlohmann::ordered_json;

  bool isAnyIn(const Json &value) const;
  void markTexts(Json &value) const;

  const SpecialSpellings *spellings;
  std::string mark; ///< empty: nothing has been marked
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CONTENTMARKS_H
