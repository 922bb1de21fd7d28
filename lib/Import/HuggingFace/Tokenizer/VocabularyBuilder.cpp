//===- VocabularyBuilder.cpp - builder of a vocabulary --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VocabularyBuilder.h"

#include "sluice/Import/Support/Quote.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::hf;
using namespace sluice::text;

Status VocabularyBuilder::add(uint64_t id, Token token) {
  if (id > INT32_MAX)
    return failure("token ", quote(token.text), " has the id ", id,
                   ", which does not fit 31 bits");
  auto tokenId = static_cast<TokenId>(id);
  auto [known, isNew] = ids.emplace(token.text, tokenId);
  if (!isNew)
    return failure("token ", quote(token.text), " has the ids ", known->second,
                   " and ", id);
  tokens.emplace_back(tokenId, std::move(token));
  return {};
}

std::optional<TokenId> VocabularyBuilder::find(const std::string &text) const {
  auto known = ids.find(text);
  return known == ids.end() ? std::nullopt
                            : std::optional<TokenId>(known->second);
}

Expected<std::vector<Token>> VocabularyBuilder::take() {
  std::sort(tokens.begin(), tokens.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Token> list;
  list.reserve(tokens.size());
  for (auto &[id, token] : tokens) {
    if (!list.empty() && static_cast<size_t>(id) == list.size() - 1)
      return failure("the id ", id, " is both ", quote(list.back().text),
                     " and ", quote(token.text));
    if (static_cast<size_t>(id) != list.size())
      return failure("the vocabulary has a hole: no token has the id ",
                     list.size(), ", but ", quote(token.text), " has ", id);
    list.push_back(std::move(token));
  }
  tokens.clear();
  return list;
}
