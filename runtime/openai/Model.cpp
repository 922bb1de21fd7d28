//===- Model.cpp - the API's view of the model ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Model.h"

#include "runtime/jinja/TurnEnd.h"
#include "runtime/text/TokenBytes.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

using text::TokenId;

/// Returns four times the bytes of a full context of longest tokens, because
/// normalizing may make a text shorter before it is tokenized.
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
  Model model(std::move(options));
  model.promptBytes = bytesBeyond(model.given);
  model.spellings = SpecialSpellings(model.tokenizer());
  for (TokenId id : model.given.endTokens)
    model.addEndToken(id);
  for (TokenId id : model.tokenizer().spec().endOfText)
    model.addEndToken(id);
  SLUICE_RETURN_IF_ERROR(model.compileTemplates());
  return model;
}

/// Compiles the template of the options, or those of the tokenizer.
Status Model::compileTemplates() {
  if (!given.chatTemplate.empty()) {
    Expected<PromptTemplate> compiled =
        PromptTemplate::create(given.chatTemplate);
    if (!compiled)
      return compiled.status();
    keep(chats, std::move(compiled), "chats");
    return {};
  }
  const text::TokenizerSpec &spec = tokenizer().spec();
  chats.why = hasTokenizer()
                  ? "this model has no chat template; use /v1/completions"
                  : "this model has no tokenizer; give token ids to "
                    "/v1/completions";
  if (!spec.chatTemplate.empty())
    keep(chats, PromptTemplate::create(spec.chatTemplate), "chats");
  if (!spec.toolTemplate.empty())
    keep(toolChats.emplace(), PromptTemplate::create(spec.toolTemplate),
         "chats with tools");
  return {};
}

/// Keeps a template or its error; `requests` says which requests it is for.
void Model::keep(Slot &slot, Expected<PromptTemplate> compiled,
                 std::string_view requests) {
  if (!compiled) {
    slot.why = "this model's chat template cannot be used: " +
               compiled.status().message() + "; use /v1/completions";
    said.push_back(std::string(requests) +
                   " are refused: " + compiled.status().message());
    return;
  }
  slot.usable = compiled.take();
  if (auto end = text::findTurnEnd(slot.usable->compiled(), tokenizer()))
    addEndToken(*end);
}

ApiExpected<const PromptTemplate *> Model::chatTemplate(bool withTools) const {
  const Slot &slot = withTools && toolChats ? *toolChats : chats;
  if (!slot.usable)
    return invalidField("messages", slot.why);
  return &*slot.usable;
}

void Model::addEndToken(TokenId id) {
  if (std::ranges::find(ends, id) == ends.end())
    ends.push_back(id);
}

bool Model::hasName(std::string_view name) const {
  return std::find(given.names.begin(), given.names.end(), name) !=
         given.names.end();
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
  if (!hasTokenizer())
    return "token_id:" + std::to_string(id);
  return text::tokenBytes(tokenizer(), id);
}
