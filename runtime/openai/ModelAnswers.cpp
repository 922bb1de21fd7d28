//===- ModelAnswers.cpp - answers about models and their tokens -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"
#include "runtime/openai/CommonFields.h"
#include "runtime/text/JsonWriter.h"

using namespace sluice;
using namespace sluice::openai;

using text::JsonWriter;

static void writeModel(JsonWriter &json, const Model &model,
                       std::string_view name) {
  json.beginObject();
  json.key("id").string(name);
  json.key("object").string("model");
  json.key("created").number(model.created());
  json.key("owned_by").string("sluice");
  json.key("max_model_len").number(model.contextLength());
  json.key("meta").beginObject();
  json.key("n_vocab").number(model.vocabularySize());
  json.key("n_ctx").number(model.contextLength());
  json.endObject();
  json.endObject();
}

std::string openai::modelListJson(const Model &model) {
  JsonWriter json(JsonWriter::Style::Compact);
  json.beginObject();
  json.key("object").string("list");
  json.key("data").beginArray();
  for (const std::string &name : model.names())
    writeModel(json, model, name);
  json.endArray();
  json.endObject();
  return json.take();
}

ApiExpected<std::string> openai::modelJson(const Model &model,
                                           std::string_view name) {
  if (!model.hasName(name))
    return unknownModel(name);
  JsonWriter json(JsonWriter::Style::Compact);
  writeModel(json, model, name);
  return json.take();
}

std::string openai::tokenizeJson(const TokenizeRequest &request,
                                 const Model &model) {
  JsonWriter json(JsonWriter::Style::Compact);
  json.beginObject();
  json.key("count").number(uint64_t{request.tokens.size()});
  json.key("max_model_len").number(model.contextLength());
  json.key("tokens").beginArray();
  for (int32_t token : request.tokens)
    json.number(int64_t{token});
  json.endArray();
  json.key("token_strs");
  if (request.tokenTexts) {
    json.beginArray();
    for (int32_t token : request.tokens)
      json.string(model.tokenizer().tokenText(token));
    json.endArray();
  } else {
    json.null();
  }
  json.endObject();
  return json.take();
}

std::string openai::detokenizeJson(std::string_view text) {
  JsonWriter json(JsonWriter::Style::Compact);
  json.beginObject();
  json.key("prompt").string(text);
  json.endObject();
  return json.take();
}
