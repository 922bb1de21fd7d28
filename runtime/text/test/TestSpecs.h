//===- TestSpecs.h - small tokenizers for tests ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TEST_TESTSPECS_H
#define SLUICE_RUNTIME_TEXT_TEST_TESTSPECS_H

#include "runtime/text/Tokenizer.h"

namespace sluice::text::test {

/// Adds tokens and merges to a spec by their spelling.
class SpecBuilder {
public:
  TokenId token(const std::string &text, double score = 0,
                TokenType type = TokenType::Normal);
  /// Makes a token that is looked for in the text; adds the token if there is
  /// none.
  AddedToken &added(const std::string &text);
  /// Merges two tokens into a third, which is added if there is none.
  void merge(const std::string &left, const std::string &right);
  TokenId find(const std::string &text) const;

  TokenizerSpec spec;
};

/// Returns a tokenizer of all bytes with the pattern of GPT-2, a few merges
/// ("hello" and " hello" are tokens), and the special token <end>.
SpecBuilder byteLevel();

/// Returns a tokenizer with SentencePiece's merges by score over `texts`, byte
/// tokens, and the steps around them of Llama 2.
SpecBuilder
sentencePiece(const std::vector<std::pair<std::string, double>> &texts);

/// Makes the tokenizer, or fails the test.
Tokenizer make(const TokenizerSpec &spec);

std::vector<TokenId> encode(const Tokenizer &tokenizer, std::string_view text);

/// Returns random text of `characters` characters from all of Unicode, many of
/// them ASCII.
std::string randomText(uint32_t seed, size_t characters);

} // namespace sluice::text::test

#endif // SLUICE_RUNTIME_TEXT_TEST_TESTSPECS_H
