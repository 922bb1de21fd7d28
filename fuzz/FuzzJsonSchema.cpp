//===- FuzzJsonSchema.cpp - fuzzes JSON schemas and what they write -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarState.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// Token b is the byte b; 256 ends a text.
std::shared_ptr<const TokenTrie> bytes() {
  static const auto trie = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back(std::string(1, static_cast<char>(byte)));
    std::vector<std::string_view> views(tokens.begin(), tokens.end());
    views.push_back("</s>");
    return std::make_shared<const TokenTrie>(
        *TokenTrie::create(views, {{256}}));
  }();
  return trie;
}

} // namespace

/// Any schema is refused in one line, or becomes a grammar whose texts can
/// always be completed and are JSON.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto schema = nlohmann::ordered_json::parse(data, data + size, nullptr,
                                              /*allow_exceptions=*/false);
  if (schema.is_discarded())
    return 0;
  Expected<Grammar> grammar = Grammar::fromJsonSchema(schema);
  if (!grammar) {
    if (grammar.status().message().find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  auto tokens = std::make_shared<const TokenGrammar>(*grammar, bytes());
  GrammarState state(tokens);
  std::vector<uint64_t> mask(tokens->maskWords());
  std::string text;
  uint64_t choice = size;
  while (text.size() < 200) {
    if (!state.fillMask(mask).ok())
      std::abort(); // every byte is a token
    if (state.isComplete())
      if (!nlohmann::json::accept(text))
        std::abort();
    choice = choice * 6364136223846793005 + data[choice % size];
    TokenId token = static_cast<TokenId>((choice >> 32) % 257);
    while (!(mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1))
      token = (token + 1) % 257;
    if (!state.advance(token))
      std::abort();
    if (state.hasEnded())
      return 0;
    text += static_cast<char>(token);
  }
  return 0;
}
