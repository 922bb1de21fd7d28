//===- FuzzApiRequest.cpp - requests of the API, and answers to them ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"
#include "runtime/openai/ToolCallParser.h"
#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Utf8.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::openai;

using nlohmann::ordered_json;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

/// A token for each byte, and some special ones.
static text::Tokenizer makeTokenizer() {
  text::TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte)
    spec.tokens.push_back(
        {std::string(text::byteSpelling(static_cast<uint8_t>(byte)))});
  for (const char *name : {"<|im_start|>", "<|im_end|>", "[TOOL_CALLS]",
                           "<tool_call>", "</tool_call>"}) {
    spec.tokens.push_back({name, 0, text::TokenType::Added});
    text::AddedToken added;
    added.id = static_cast<int32_t>(spec.tokens.size() - 1);
    added.special = name[0] == '[' || name[1] == '|';
    spec.addedTokens.push_back(added);
  }
  spec.endOfText = {257};
  text::PreTokenizerStep bytes;
  bytes.kind = text::PreTokenizerStep::Kind::ByteLevel;
  spec.preTokenizer = {bytes};
  spec.decoder = {{text::DecoderStep::Kind::ByteLevel}};
  return text::Tokenizer::create(std::move(spec)).take();
}

/// Shows everything that a conversation can have; calls are written in the
/// form that `marks` stands for.
static Model makeModel(const std::string &marks) {
  text::Tokenizer tokenizer = makeTokenizer();
  return Model::create(
             {.names = {"m"},
              .tokenizer = tokenizer,
              .vocabularySize = tokenizer.vocabularySize(),
              .contextLength = 4096,
              .chatTemplate =
                  "{{ tools | tojson }}{{ documents }}{{ reasoning_effort }}"
                  "{% for m in messages %}<|im_start|>{{ m.role }}\n"
                  "{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}"
                  "<|im_end|>{% endfor %}{# tools " +
                  marks + " #}",
              .embeddings = true})
      .take();
}

static const Model &modelFor(uint8_t choice) {
  static const Model models[] = {
      makeModel("<tool_call>"), makeModel("<|python_tag|>"),
      makeModel("[TOOL_CALLS]"), makeModel("[TOOL_CALLS] [ARGS]"),
      makeModel("<|tool_call|>")};
  return models[choice % std::size(models)];
}

static void check(const ApiError &error) {
  require(error.status == 400 || error.status == 404 || error.status == 413);
  require(!error.message.empty());
  ordered_json json = ordered_json::parse(error.json(), nullptr, false);
  require(json.is_object() && json.contains("error"));
}

static void checkLine(const std::string &json) {
  if (json.empty())
    return;
  require(json.find('\n') == std::string::npos && text::isValidUtf8(json));
  require(ordered_json::accept(json));
}

/// What a choice becomes of, whichever way it is told of.
static std::string summary(const ChoicePiece &piece) {
  std::string out = piece.text;
  for (const ToolCallDelta &call : piece.toolCalls)
    out += "|" + std::to_string(call.index) + " " + call.id + " " + call.name +
           " " + call.arguments;
  return out;
}

/// Answers a request with the bytes of its own body as tokens.
static void answer(const GenerationRequest &request, const Model &model,
                   std::string_view body) {
  AnswerWriter writer(request, model, answerId(request.endpoint, 1), 0);
  ChoiceText choice(request, model, 0);
  checkLine(writer.firstChunk(0, {}));
  ChoicePiece all;
  std::vector<TokenLogProbability> report(2);
  for (char c : body.substr(0, 512)) {
    report[0] = {static_cast<uint8_t>(c), -1.5f};
    report[1] = {static_cast<uint8_t>(c) + 5, -0.5f};
    ChoicePiece piece = choice.push(report[0].token, report);
    if (!piece.empty())
      checkLine(writer.chunk(0, piece, {}));
    all.append(std::move(piece));
  }
  ChoicePiece rest = choice.finish();
  ChoiceEnd end = {FinishReason::Stop, choice.calledTools()};
  checkLine(writer.lastChunk(0, rest, end, {}));
  all.append(std::move(rest));
  require(text::isValidUtf8(all.text));
  ChoiceAnswer one[] = {{std::move(all), end}};
  checkLine(writer.answer(one, {}));
  checkLine(writer.usageChunk({}));
}

static void checkGeneration(ApiExpected<GenerationRequest> request,
                            const RequestContext &context,
                            std::string_view body) {
  if (!request)
    return check(request.error());
  require(!request->requests.empty() && request->promptTokens > 0);
  for (const ScheduledRequest &one : request->requests) {
    int64_t prompt = std::ssize(one.spec.prompt);
    require(prompt > 0 && one.spec.maxTokens >= 0);
    require(prompt + one.spec.maxTokens <= context.model.contextLength());
    require(one.spec.sampling.validate(context.model.vocabularySize()).ok());
  }
  answer(*request, context.model, body);
}

/// A model's text, cut in two ways, has the same calls.
static void checkToolText(const Model &model, std::string_view text) {
  if (!text::isValidUtf8(text))
    return;
  ToolUse use;
  use.choice = ToolUse::Choice::Auto;
  use.syntax = (*model.chatTemplate(/*withTools=*/true))->toolSyntax();
  use.names = {"f", "g"};
  ToolCallParser whole(use, 1), cut(use, 1);
  ChoicePiece first = whole.push(text), second;
  first.append(whole.finish());
  for (char c : text)
    second.append(cut.push(std::string_view(&c, 1)));
  second.append(cut.finish());
  require(summary(first) == summary(second));
  require(first.text.size() <= text.size());
}

/// A byte that says which endpoint, a byte that says which model, the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  const Model &model = modelFor(data[1]);
  std::string_view body(reinterpret_cast<const char *>(data) + 2, size - 2);
  RequestContext context = {model, /*random=*/7, /*now=*/0, {}};
  context.limits.choices = 4;
  context.limits.requests = 16;
  auto checkOther = [](const auto &request) {
    if (!request)
      check(request.error());
  };
  switch (data[0] % 6) {
  case 0:
    checkGeneration(parseCompletionRequest(body, context), context, body);
    break;
  case 1:
    checkGeneration(parseChatRequest(body, context), context, body);
    break;
  case 2:
    checkOther(parseEmbeddingRequest(body, context));
    break;
  case 3:
    checkOther(parseTokenizeRequest(body, context));
    break;
  case 4:
    checkOther(parseDetokenizeRequest(body, context));
    break;
  case 5:
    checkToolText(model, body);
    break;
  }
  return 0;
}
