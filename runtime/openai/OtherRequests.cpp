//===- OtherRequests.cpp - embeddings, /tokenize and /detokenize ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ChatPrompt.h"
#include "runtime/openai/JsonBody.h"

using namespace sluice;
using namespace sluice::openai;

ApiExpected<EmbeddingRequest>
openai::parseEmbeddingRequest(std::string_view body,
                              const RequestContext &context) {
  ApiExpected<text::JsonTree> tree = parseBody(body, context.limits);
  if (!tree)
    return tree.error();
  const ordered_json &json = tree->root();
  EmbeddingRequest request;
  const Model &model = context.model;
  FieldReader fields(json);
  if (ApiStatus unknown = readModel(fields, model, request.model))
    return *unknown;
  if (!model.embeddings())
    return invalidField("model",
                        "the model `" + request.model + "` has no embeddings");
  std::string format = "float";
  fields.text("encoding_format", format);
  if (format != "float" && format != "base64")
    fields.fail("encoding_format", "is '", format.substr(0, 40),
                "', not float or base64");
  request.base64 = format == "base64";
  if (fields.find("dimensions"))
    fields.fail("dimensions", "is not supported");
  Lengths lengths;
  lengths.maxTokens = 0;
  readTruncation(fields, lengths);
  if (!fields.ok())
    return fields.error();
  ApiExpected<std::vector<Prompt>> inputs =
      readPrompts(json, "input", context, lengths, /*addSpecial=*/true,
                  /*wantsText=*/false);
  if (!inputs)
    return inputs.error();
  for (Prompt &input : *inputs) {
    if (ApiStatus wrong = fitPrompt(input.tokens, lengths, model, "input"))
      return *wrong;
    request.promptTokens += std::ssize(input.tokens);
    request.inputs.push_back(std::move(input.tokens));
  }
  return request;
}

ApiExpected<TokenizeRequest>
openai::parseTokenizeRequest(std::string_view body,
                             const RequestContext &context) {
  ApiExpected<text::JsonTree> tree = parseBody(body, context.limits);
  if (!tree)
    return tree.error();
  const ordered_json &json = tree->root();
  TokenizeRequest request;
  FieldReader fields(json);
  std::string name;
  fields.keep(readModel(fields, context.model, name));
  fields.flag("return_token_strs", request.tokenTexts);
  bool isChat = fields.find("messages"), addSpecial = true;
  if (isChat && fields.find("prompt"))
    fields.fail("messages", "and 'prompt' cannot both be given");
  else if (!isChat && !fields.find("prompt"))
    fields.fail("prompt", "is missing");
  fields.flag("add_special_tokens", addSpecial);
  if (fields.find("chat_template"))
    fields.fail("chat_template", "is not supported; the server's is used");
  std::string text;
  fields.text("prompt", text);
  if (!fields.ok())
    return fields.error();
  if (isChat) {
    GrammarBudget budget(context.limits, context.work, context.grammarScope);
    ApiExpected<ToolRequest> tools = readTools(json, context, budget);
    if (!tools)
      return tools.error();
    ApiExpected<Prompt> prompt = readChatPrompt(json, context, *tools, nullptr);
    if (!prompt)
      return prompt.error();
    request.tokens = std::move(prompt->tokens);
    return request;
  }
  ApiExpected<TokenIds> tokens =
      encodeText(context.model, text, addSpecial, "prompt");
  if (!tokens)
    return tokens.error();
  request.tokens = tokens.take();
  return request;
}

ApiExpected<std::string>
openai::parseDetokenizeRequest(std::string_view body,
                               const RequestContext &context) {
  ApiExpected<text::JsonTree> tree = parseBody(body, context.limits);
  if (!tree)
    return tree.error();
  const ordered_json &json = tree->root();
  FieldReader fields(json);
  std::string name;
  fields.keep(readModel(fields, context.model, name));
  const ordered_json *ids = fields.array("tokens");
  if (!ids && fields.ok())
    fields.fail("tokens", "is missing");
  if (!context.model.hasTokenizer())
    fields.fail("tokens", "have no text: this model has no tokenizer");
  if (!fields.ok())
    return fields.error();
  ApiExpected<TokenIds> tokens = readIds(*ids, context.model, "tokens");
  if (!tokens)
    return tokens.error();
  return context.model.tokenizer().decode(*tokens);
}
