//===- FuzzGrammar.cpp - fuzzes the reader of GBNF, and matching ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarState.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::grammar;

namespace {

constexpr std::string_view tokens[] = {
    "a",    "b",  "c",  "ab", "\xC3", "\xA9", "\xC3\xA9", "0",
    "1",    "10", "{",  "}",  "\"",   "\":",  ",",        "[",
    "]",    " ",  "\n", "x",  "  ",   "true", "\xE2",     "\x82",
    "\xAC", "(",  ")",  "-",  ".",    "e",    "",         "</s>"};
constexpr TokenId endToken = 31;

std::shared_ptr<const TokenTrie> vocabulary() {
  static const auto trie = std::make_shared<const TokenTrie>(
      *TokenTrie::create(tokens, {{endToken}}));
  return trie;
}

} // namespace

/// Any bytes are refused in one line, or become a grammar whose masks allow
/// just what it accepts, until a text of it ends.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<Grammar> grammar =
      Grammar::fromGbnf({reinterpret_cast<const char *>(data), size});
  if (!grammar) {
    if (grammar.status().message().find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  GrammarState state(
      std::make_shared<const TokenGrammar>(*grammar, vocabulary()));
  uint64_t choice = size;
  for (int step = 0; step < 32 && !state.hasEnded(); ++step) {
    uint64_t mask = 0;
    if (!state.fillMask({&mask, 1}).ok())
      return 0; // the vocabulary has not got what is needed
    if ((mask >> endToken & 1) != state.isComplete())
      std::abort();
    // Near the limit of readings a token of the mask may be refused.
    for (TokenId token = 0; token < endToken; ++token)
      if ((mask >> token & 1) != state.accepts(token) &&
          (state.readings() <= 4 || state.accepts(token)))
        std::abort();
    // One of those allowed, by what the input happens to be.
    choice = choice * 6364136223846793005 + data[choice % size];
    TokenId token = static_cast<TokenId>(choice >> 32 & 31);
    while (!(mask >> token & 1))
      token = (token + 1) & 31;
    GrammarState guess = state;
    if (!guess.advance(token))
      return 0;
    state = std::move(guess);
  }
  return 0;
}
