//===- Tokenizer.h - converts text to token ids and back ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encodes text to token ids, and decodes ids to text:
//
//   Expected<Tokenizer> tokenizer = Tokenizer::create(std::move(spec));
//   Expected<std::vector<TokenId>> ids = tokenizer->encode("Hello");
//   std::string text = tokenizer->decode(*ids);
//
// Text is UTF-8. A byte that belongs to no valid character is read as U+FFFD.
// NUL is a character like any other.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENIZER_H
#define SLUICE_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/text/TokenizerSpec.h"

#include <memory>
#include <span>
#include <string_view>

namespace sluice::text {

class Decoder;

/// A tokenizer. Immutable once made, cheap to copy (copies share the tables),
/// and safe to use from several threads.
class Tokenizer {
public:
  /// Errors: the spec is not valid, or one of its patterns does not compile;
  /// the message names what is wrong.
  static Expected<Tokenizer> create(TokenizerSpec spec);

  /// Loads a tokenizer from the bytes of serializeTokenizer(); `blob` is not
  /// kept.
  static Expected<Tokenizer> load(std::span<const uint8_t> blob);

  /// Returns the tokenizer of a model that comes without one: it has no tokens,
  /// cannot encode, and decodes to nothing.
  static Tokenizer none();

  /// Returns the ids of `text`. With `addSpecial`, the template's ids (begin of
  /// text and the like) are put around them. With `parseSpecial`, the spelling
  /// of a special token in the text becomes that token, unless it begins at one
  /// of the offsets in `literal`, which ascend; otherwise it is ordinary text.
  /// Errors: the text is longer than 1 GiB, a pattern exceeds its limit of
  /// steps, a character has no token and there is no unknown token, or the
  /// tokenizer has no tokens at all.
  Expected<std::vector<TokenId>>
  encode(std::string_view text, bool addSpecial = true,
         bool parseSpecial = true, std::span<const size_t> literal = {}) const;

  /// Returns the text of `ids`, which is always valid UTF-8. Ids outside the
  /// vocabulary are skipped; with `skipSpecial`, special tokens too.
  std::string decode(std::span<const TokenId> ids,
                     bool skipSpecial = false) const;

  int64_t vocabularySize() const;

  /// Returns the token as the vocabulary spells it; empty for an id outside the
  /// vocabulary.
  std::string_view tokenText(TokenId id) const;

  /// Returns the token as the decoder reads it: the normalized spelling for an
  /// added token that is looked for in the normalized text, else tokenText().
  std::string_view decodedText(TokenId id) const;

  /// Returns the id of the token that the vocabulary spells as `text`.
  std::optional<TokenId> tokenId(std::string_view text) const;

  /// Returns whether decode() with `skipSpecial` skips the token.
  bool isSpecial(TokenId id) const;

  const TokenizerSpec &spec() const;

  /// Returns the decoder, for a Detokenizer. It lives as long as any copy of
  /// this tokenizer.
  const Decoder &decoder() const;

private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZER_H
