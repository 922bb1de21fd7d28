//===- ModelAnswers.cpp - answers about models and their tokens -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"
#include "runtime/openai/CommonFields.h"
#include "runtime/openai/JsonBody.h"

using namespace sluice;
using namespace sluice::openai;

static ordered_json modelEntry(const Model &model, std::string_view name) {
  return {{"id", name},
          {"object", "model"},
          {"created", model.created()},
          {"owned_by", "sluice"},
          {"max_model_len", model.contextLength()},
          {"meta",
           {{"n_vocab", model.vocabularySize()},
            {"n_ctx", model.contextLength()}}}};
}

std::string openai::modelListJson(const Model &model) {
  ordered_json data = ordered_json::array();
  for (const std::string &name : model.names())
    data.push_back(modelEntry(model, name));
  return dumpJson({{"object", "list"}, {"data", std::move(data)}});
}

ApiExpected<std::string> openai::modelJson(const Model &model,
                                           std::string_view name) {
  if (!model.hasName(name))
    return unknownModel(name);
  return dumpJson(modelEntry(model, name));
}

std::string openai::tokenizeJson(const TokenizeRequest &request,
                                 const Model &model) {
  ordered_json texts;
  if (request.tokenTexts) {
    texts = ordered_json::array();
    for (int32_t token : request.tokens)
      texts.push_back(model.tokenizer().tokenText(token));
  }
  return dumpJson({{"count", request.tokens.size()},
                   {"max_model_len", model.contextLength()},
                   {"tokens", request.tokens},
                   {"token_strs", std::move(texts)}});
}

std::string openai::detokenizeJson(std::string_view text) {
  return dumpJson({{"prompt", text}});
}
