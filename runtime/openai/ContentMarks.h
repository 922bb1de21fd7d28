//===- ContentMarks.h - keeps special tokens out of user text -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prevents the texts of a conversation from becoming special tokens. A chat
// template writes special tokens by their spelling (<|im_end|>). If a user or a
// tool writes such a spelling, it would end the turn and begin another one in
// the prompt. So a mark is put in front of each spelling in the conversation's
// contents, and is removed from the rendered prompt; the spelling behind it
// then counts as text.
//
//   ContentMarks marks(model.specialSpellings());
//   marks.putInto({&messages, &tools});                   // and render them
//   std::vector<size_t> literal = marks.takeOutOf(prompt);
//   tokenizer.encode(prompt, false, true, literal);
//
// A mark is a noncharacter (U+FDD0 to U+FDEF) that does not occur in the
// contents. Templates pass it on like any letter.
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

  /// Returns whether a spelling begins at offset `at`.
  bool beginsAt(std::string_view text, size_t at) const;

private:
  text::ByteTrie trie;
};

/// The marks in one prompt.
class ContentMarks {
public:
  /// `spellings` must outlive it; if null, nothing is marked.
  explicit ContentMarks(const SpecialSpellings *spellings)
      : spellings(spellings) {}

  /// Marks the spellings in all texts of the values, at any depth. May be
  /// called once.
  void putInto(std::initializer_list<nlohmann::ordered_json *> values);

  /// Removes the marks and returns their offsets in the prompt, ascending.
  std::vector<size_t> takeOutOf(std::string &prompt) const;

private:
  using Json = nlohmann::ordered_json;

  bool isAnyIn(const Json &value) const;
  void markTexts(Json &value) const;

  const SpecialSpellings *spellings;
  std::string mark; ///< empty: nothing was marked
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CONTENTMARKS_H
