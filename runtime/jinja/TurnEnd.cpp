//===- TurnEnd.cpp - the token that ends an assistant's turn --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/TurnEnd.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

namespace {

/// An answer that no template writes by itself.
constexpr std::string_view answer = "sluiceAnswer";

ordered_json message(const char *role, std::string_view text, bool asParts) {
  if (!asParts)
    return {{"role", role}, {"content", text}};
  return {
      {"role", role},
      {"content", ordered_json::array({{{"type", "text"}, {"text", text}}})}};
}

std::optional<std::string> spelling(const Tokenizer &tokenizer,
                                    std::optional<TokenId> id) {
  if (!id)
    return std::nullopt;
  return std::string(tokenizer.tokenText(*id));
}

bool isAdded(const Tokenizer &tokenizer, TokenId id) {
  return std::ranges::any_of(
      tokenizer.spec().addedTokens,
      [id](const AddedToken &added) { return added.id == id; });
}

/// Returns the added token after the answer and white space, in a prompt of
/// these messages.
std::optional<TokenId> tokenBehind(const ChatTemplate &chat,
                                   const Tokenizer &tokenizer,
                                   ordered_json messages) {
  const std::vector<TokenId> &ends = tokenizer.spec().endOfText;
  ChatInput input;
  input.messages = std::move(messages);
  input.addGenerationPrompt = false;
  input.bosToken = spelling(tokenizer, tokenizer.spec().beginOfText);
  if (!ends.empty())
    input.eosToken = spelling(tokenizer, ends.front());
  Expected<std::string> prompt = chat.render(input);
  if (!prompt)
    return std::nullopt;
  size_t at = prompt->rfind(answer);
  if (at == std::string::npos)
    return std::nullopt;
  at = prompt->find_first_not_of(" \t\r\n", at + answer.size());
  if (at == std::string::npos)
    return std::nullopt;
  Expected<std::vector<TokenId>> tokens =
      tokenizer.encode(std::string_view(*prompt).substr(at),
                       /*addSpecial=*/false, /*parseSpecial=*/true);
  if (!tokens || tokens->empty() || !isAdded(tokenizer, tokens->front()))
    return std::nullopt;
  return tokens->front();
}

} // namespace

std::optional<TokenId> text::findTurnEnd(const ChatTemplate &chat,
                                         const Tokenizer &tokenizer) {
  const bool asParts = !chat.contentForms().text;
  ordered_json messages =
      ordered_json::array({message("user", "Hello", asParts),
                           message("assistant", answer, asParts)});
  if (std::optional<TokenId> end = tokenBehind(chat, tokenizer, messages))
    return end;
  messages.push_back(message("user", "Thanks", asParts));
  return tokenBehind(chat, tokenizer, std::move(messages));
}
