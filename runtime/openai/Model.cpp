//===- Model.cpp - what the API must know of the model --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Model.h"

#include "runtime/text/TokenBytes.h"
#include "runtime/text/jinja/TurnEnd.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

using text::TokenId;

/// Four times what the context holds if each token is the longest one: what a
/// tokenizer normalizes may become shorter before it is cut into tokens.
static int64_t bytesBeyond(const ModelOptions &options) {
  constexpr int64_t shrinks = 4;
  size_t longest = 1;
  for (TokenId id = 0; id < options.tokenizer.vocabularySize(); ++id)
    longest = std::max(longest, options.tokenizer.tokenText(id).size());
  return options.contextLength * shrinks * static_cast<int64_t>(longest);
}

Expected<Model> Model::create(ModelOptions options) {
  if (options.names.empty() || options.names.front().empty())
    return failure("the model has no name to be served under");
  if (options.vocabularySize < 1 || options.contextLength < 1)
    return failure("the model's vocabulary has ", options.vocabularySize,
                   " tokens, its context ", options.contextLength);
  if (options.chatTemplate.empty())
    options.chatTemplate = options.tokenizer.spec().chatTemplate;
  Model model(std::move(options));
  model.promptBytes = bytesBeyond(model.given);
  model.spellings = SpecialSpellings(model.tokenizer());
  for (TokenId id : model.given.endTokens)
    model.addEndToken(id);
  for (TokenId id : model.tokenizer().spec().endOfText)
    model.addEndToken(id);
  const std::string &source = model.given.chatTemplate;
  if (source.empty())
    return model;
  Expected<text::ChatTemplate> compiled = text::ChatTemplate::compile(source);
  if (!compiled)
    return compiled.status();
  model.compiled = compiled.take();
  model.forms = model.compiled->contentForms();
  model.tools = toolSyntaxOf(source);
  if (auto end = text::findTurnEnd(*model.compiled, model.tokenizer()))
    model.addEndToken(*end);
  return model;
}

void Model::addEndToken(TokenId id) {
  if (std::ranges::find(ends, id) == ends.end())
    ends.push_back(id);
}

bool Model::hasName(std::string_view name) const {
  return std::find(given.names.begin(), given.names.end(), name) !=
         given.names.end();
}

static bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

bool Model::templateMentions(std::string_view word) const {
  std::string_view source = given.chatTemplate;
  for (size_t at = source.find(word); at != std::string_view::npos;
       at = source.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isNameCharacter(source[at - 1])) &&
        (end == source.size() || !isNameCharacter(source[end])))
      return true;
  }
  return false;
}

std::optional<std::string> Model::bosToken() const {
  const std::optional<TokenId> &id = tokenizer().spec().beginOfText;
  if (!id)
    return std::nullopt;
  return std::string(tokenizer().tokenText(*id));
}

std::optional<std::string> Model::eosToken() const {
  const std::vector<TokenId> &ids = tokenizer().spec().endOfText;
  if (ids.empty())
    return std::nullopt;
  return std::string(tokenizer().tokenText(ids.front()));
}

std::string Model::tokenBytes(TokenId id) const {
  return text::tokenBytes(tokenizer(), id);
}
