//===- Tokenizer.h - text to token ids and back ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Tokenizer> tokenizer = Tokenizer::create(std::move(spec));
//   Expected<std::vector<TokenId>> ids = tokenizer->encode("Hello");
//   std::string text = tokenizer->decode(*ids);
//
// Text is UTF-8; a byte that is not of a valid character is taken as U+FFFD.
// A NUL is a character like any other.
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

/// Immutable once made, cheap to copy (copies share the tables), and safe to
/// use from several threads.
class Tokenizer {
public:
  /// Errors: the description is not valid, or a pattern of it does not
  /// compile; both name what is wrong.
  static Expected<Tokenizer> create(TokenizerSpec spec);

  /// From the bytes that serializeTokenizer made; `blob` is not kept.
  static Expected<Tokenizer> load(std::span<const uint8_t> blob);

  /// The tokenizer of a model that comes without one: it has no tokens, encodes
  /// nothing and decodes to nothing.
  static Tokenizer none();

  /// The ids of `text`. With `addSpecial` the template's ids go around them
  /// (begin of text and the like). With `parseSpecial` the spelling of a
  /// special token in the text becomes that token; without it is text, and so
  /// is one that begins at an offset of `literal`, which ascend.
  /// Errors: the text is longer than 1 GiB, a pattern needs more steps than
  /// its limit, a character has no token and there is no unknown token, or
  /// there are no tokens at all.
  Expected<std::vector<TokenId>>
  encode(std::string_view text, bool addSpecial = true,
         bool parseSpecial = true, std::span<const size_t> literal = {}) const;

  /// The text of `ids`, always valid UTF-8. Ids outside the vocabulary are
  /// left out; special tokens too with `skipSpecial`.
  std::string decode(std::span<const TokenId> ids,
                     bool skipSpecial = false) const;

  int64_t vocabularySize() const;

  /// The token as the vocabulary spells it; empty outside the vocabulary.
  std::string_view tokenText(TokenId id) const;

  /// The token as the decoder takes it: for an added token that is looked for
  /// in the normalized text the normalized spelling, else as tokenText.
  std::string_view decodedText(TokenId id) const;

  /// The id of the token that the vocabulary spells `text`.
  std::optional<TokenId> tokenId(std::string_view text) const;

  /// Whether decode(skipSpecial) leaves the token out.
  bool isSpecial(TokenId id) const;

  const TokenizerSpec &spec() const;

  /// The steps from tokens to text, for a Detokenizer. Lives as long as any
  /// copy of this tokenizer.
  const Decoder &decoder() const;

private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZER_H
