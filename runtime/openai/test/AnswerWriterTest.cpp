//===- AnswerWriterTest.cpp - answers as JSON -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/AnswerWriter.h"
#include "TestApiModel.h"

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

LogprobEntry entry(std::string bytes, double logprob, int64_t offset,
                   std::vector<TokenLogprob> top) {
  return {{std::move(bytes), logprob}, std::move(top), offset};
}

ChoicePiece textPiece(std::string text) {
  ChoicePiece piece;
  piece.text = std::move(text);
  return piece;
}

class AnswerWriterTest : public testing::Test {
protected:
  void SetUp() override { request.model = "tiny"; }
  AnswerWriter writer() {
    return AnswerWriter(request, model, answerId(request.endpoint, 0xAB), 123);
  }
  /// Returns the choice of a chunk.
  std::string choiceOf(const std::string &chunk) {
    return ordered_json::parse(chunk)["choices"][0].dump();
  }
  void useChat() { request.endpoint = Endpoint::Chat; }

  Model model = makeModel();
  GenerationRequest request;
  ChoicePiece hello = textPiece("Hello");
  Usage usage = {3, 2, 1};
};

const std::string usageText =
    R"("usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,)"
    R"("prompt_tokens_details":{"cached_tokens":1}})";

TEST_F(AnswerWriterTest, IdsAreOfANumber) {
  EXPECT_EQ(answerId(Endpoint::Chat, 0x1F), "chatcmpl-000000000000001f");
  EXPECT_EQ(answerId(Endpoint::Completions, UINT64_MAX),
            "cmpl-ffffffffffffffff");
}

TEST_F(AnswerWriterTest, FinishReasons) {
  ToolUse tools;
  tools.choice = ToolUse::Choice::Auto;
  auto reason = [&](FinishReason reason, bool called = false) {
    return finishReasonOf(tools, {reason, called});
  };
  EXPECT_EQ(reason(FinishReason::Stop), "stop");
  EXPECT_EQ(reason(FinishReason::Length), "length");
  EXPECT_EQ(reason(FinishReason::Stop, true), "tool_calls");
  EXPECT_EQ(reason(FinishReason::Length, true), "length");
  EXPECT_EQ(reason(FinishReason::Cancelled), "abort");
  EXPECT_EQ(reason(FinishReason::Timeout), "abort");
  EXPECT_EQ(reason(FinishReason::Error), "error");
  tools.choice = ToolUse::Choice::Required;
  EXPECT_EQ(reason(FinishReason::Stop, true), "tool_calls");
  tools.choice = ToolUse::Choice::Named;
  EXPECT_EQ(reason(FinishReason::Stop, true), "stop");
}

TEST_F(AnswerWriterTest, WritesCompletions) {
  ChoiceAnswer choices[] = {{hello, {}},
                            {textPiece("x\n\"é"), {FinishReason::Length}}};
  EXPECT_EQ(writer().answer(choices, usage),
            "{\"id\":\"cmpl-00000000000000ab\",\"object\":\"text_completion\","
            "\"created\":123,\"model\":\"tiny\","
            "\"system_fingerprint\":\"fp_test\",\"choices\":["
            "{\"index\":0,\"text\":\"Hello\",\"logprobs\":null,"
            "\"finish_reason\":\"stop\"},"
            "{\"index\":1,\"text\":\"x\\n\\\"é\",\"logprobs\":null,"
            "\"finish_reason\":\"length\"}]," +
                usageText + "}");
}

TEST_F(AnswerWriterTest, WritesChats) {
  useChat();
  ChoiceAnswer choice[] = {{hello, {}}};
  EXPECT_EQ(writer().answer(choice, usage),
            R"({"id":"chatcmpl-00000000000000ab","object":"chat.completion",)"
            R"("created":123,"model":"tiny","system_fingerprint":"fp_test",)"
            R"("choices":[{"index":0,"message":{"role":"assistant",)"
            R"("content":"Hello","refusal":null},"logprobs":null,)"
            R"("finish_reason":"stop"}],)" +
                usageText + "}");
}

TEST_F(AnswerWriterTest, WritesCallsOfTools) {
  useChat();
  ChoicePiece calls;
  calls.toolCalls = {{0, "call_a", "f", "{\"x\": 1}"},
                     {1, "call_b", "g", "{}"}};
  ChoiceAnswer choice[] = {{calls, {FinishReason::Stop, true}}};
  ordered_json answer = ordered_json::parse(writer().answer(choice, usage));
  EXPECT_EQ(answer["choices"][0].dump(),
            R"({"index":0,"message":{"role":"assistant","content":null,)"
            R"("refusal":null,"tool_calls":[{"id":"call_a","type":"function",)"
            R"("function":{"name":"f","arguments":"{\"x\": 1}"}},)"
            R"({"id":"call_b","type":"function",)"
            R"("function":{"name":"g","arguments":"{}"}}]},)"
            R"("logprobs":null,"finish_reason":"tool_calls"})");
  choice[0].all.text = "Well.";
  answer = ordered_json::parse(writer().answer(choice, usage));
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "Well.");
}

TEST_F(AnswerWriterTest, WritesTheEcho) {
  request.choices = 2;
  request.echo = {"A:", "B:"};
  ChoiceAnswer choices[] = {{hello, {}}, {hello, {}}, {hello, {}}, {hello, {}}};
  ordered_json answer = ordered_json::parse(writer().answer(choices, usage));
  EXPECT_EQ(answer["choices"][1]["text"], "A:Hello");
  EXPECT_EQ(answer["choices"][2]["text"], "B:Hello");
  EXPECT_EQ(choiceOf(writer().firstChunk(3, usage)),
            R"({"index":3,"text":"B:","logprobs":null,"finish_reason":null})");
}

TEST_F(AnswerWriterTest, NothingIsSaidOfThePromptsFirstToken) {
  request.logprobs = 1;
  request.echo = {"ab"};
  ChoicePiece all = textPiece("");
  all.logprobs = {{{"a", 0}, {}, 0, /*hasLogprob=*/false},
                  {{"b", -0.5}, {{"c", -0.25}}, 1}};
  ChoiceAnswer choice[] = {{all, {FinishReason::Length}}};
  ordered_json answer = ordered_json::parse(writer().answer(choice, usage));
  EXPECT_EQ(answer["choices"][0].dump(),
            R"({"index":0,"text":"ab","logprobs":{"tokens":["a","b"],)"
            R"("token_logprobs":[null,-0.5],)"
            R"("top_logprobs":[null,{"b":-0.5,"c":-0.25}],)"
            R"("text_offset":[0,1]},"finish_reason":"length"})");
}

TEST_F(AnswerWriterTest, StreamsCompletions) {
  EXPECT_EQ(writer().firstChunk(0, usage), "");
  EXPECT_EQ(writer().chunk(1, hello, usage),
            R"({"id":"cmpl-00000000000000ab","object":"text_completion",)"
            R"("created":123,"model":"tiny","system_fingerprint":"fp_test",)"
            R"("choices":[{"index":1,"text":"Hello","logprobs":null,)"
            R"("finish_reason":null}]})");
  EXPECT_EQ(choiceOf(writer().lastChunk(1, {}, {FinishReason::Length}, usage)),
            R"({"index":1,"text":"","logprobs":null,)"
            R"("finish_reason":"length"})");
}

TEST_F(AnswerWriterTest, StreamsChats) {
  useChat();
  EXPECT_EQ(writer().firstChunk(0, usage),
            R"({"id":"chatcmpl-00000000000000ab",)"
            R"("object":"chat.completion.chunk","created":123,"model":"tiny",)"
            R"("system_fingerprint":"fp_test","choices":[{"index":0,)"
            R"("delta":{"role":"assistant","content":""},"logprobs":null,)"
            R"("finish_reason":null}]})");
  EXPECT_EQ(choiceOf(writer().chunk(0, hello, usage)),
            R"({"index":0,"delta":{"content":"Hello"},"logprobs":null,)"
            R"("finish_reason":null})");
  EXPECT_EQ(choiceOf(writer().lastChunk(0, {}, {}, usage)),
            R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})");
  EXPECT_EQ(choiceOf(writer().lastChunk(0, hello, {}, usage)),
            R"({"index":0,"delta":{"content":"Hello"},"logprobs":null,)"
            R"("finish_reason":"stop"})");
}

TEST_F(AnswerWriterTest, StreamsCallsOfTools) {
  useChat();
  ChoicePiece start, rest;
  start.toolCalls = {{0, "call_a", "f", ""}};
  rest.toolCalls = {{0, "", "", "{\"x\""}};
  EXPECT_EQ(choiceOf(writer().chunk(0, start, usage)),
            R"({"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a",)"
            R"("type":"function","function":{"name":"f","arguments":""}}]},)"
            R"("logprobs":null,"finish_reason":null})");
  EXPECT_EQ(choiceOf(writer().chunk(0, rest, usage)),
            R"({"index":0,"delta":{"tool_calls":[{"index":0,)"
            R"("function":{"arguments":"{\"x\""}}]},)"
            R"("logprobs":null,"finish_reason":null})");
}

TEST_F(AnswerWriterTest, UsageOfStreams) {
  useChat();
  request.includeUsage = true;
  ordered_json chunk = ordered_json::parse(writer().chunk(0, hello, usage));
  EXPECT_TRUE(chunk.contains("usage"));
  EXPECT_TRUE(chunk["usage"].is_null());
  EXPECT_EQ(writer().usageChunk(usage),
            R"({"id":"chatcmpl-00000000000000ab",)"
            R"("object":"chat.completion.chunk","created":123,"model":"tiny",)"
            R"("system_fingerprint":"fp_test","choices":[],)" +
                usageText + "}");
  request.continuousUsage = true;
  chunk = ordered_json::parse(writer().chunk(0, hello, usage));
  EXPECT_EQ(chunk["usage"]["completion_tokens"], 2);
}

TEST_F(AnswerWriterTest, LogprobsOfCompletions) {
  request.logprobs = 1;
  ChoicePiece piece = hello;
  piece.logprobs = {
      entry("He", -0.5, 0, {{"He", -0.5}}),
      entry("llo", -2, 2, {{"y", -0.25}}),
      entry("\xE2\x98", -HUGE_VAL, 5, {{"\xE2\x99", -1}}),
  };
  EXPECT_EQ(
      ordered_json::parse(choiceOf(writer().chunk(0, piece, usage)))["logprobs"]
          .dump(),
      R"({"tokens":["He","llo","bytes:\\xe2\\x98"],)"
      R"("token_logprobs":[-0.5,-2.0,-9999.0],)"
      R"("top_logprobs":[{"He":-0.5},{"llo":-2.0,"y":-0.25},)"
      R"({"bytes:\\xe2\\x98":-9999.0,"bytes:\\xe2\\x99":-1.0}],)"
      R"("text_offset":[0,2,5]})");
}

TEST_F(AnswerWriterTest, LogprobsOfChats) {
  useChat();
  request.logprobs = 1;
  ChoicePiece piece = hello;
  piece.logprobs = {entry("é", -0.5, 0, {{"\xC3", -0.25}})};
  EXPECT_EQ(
      ordered_json::parse(choiceOf(writer().chunk(0, piece, usage)))["logprobs"]
          .dump(),
      "{\"content\":[{\"token\":\"é\",\"logprob\":-0.5,"
      "\"bytes\":[195,169],\"top_logprobs\":[{\"token\":\"\\\\xc3\","
      "\"logprob\":-0.25,\"bytes\":[195]}]}],\"refusal\":null}");
  // The same holds for a complete answer without tokens.
  ChoiceAnswer none[] = {{{}, {}}};
  EXPECT_EQ(ordered_json::parse(
                writer().answer(none, usage))["choices"][0]["logprobs"]
                .dump(),
            R"({"content":[],"refusal":null})");
}

TEST_F(AnswerWriterTest, HasTheIdsOfTokensThatARequestAsksFor) {
  request.tokenIds = true;
  request.promptIds = {{1, 2}};
  ChoicePiece piece;
  piece.text = "a";
  piece.tokens = {3, 4};
  ChoiceAnswer answers[] = {{piece, {}}};
  auto parse = [](const std::string &json) {
    return ordered_json::parse(json);
  };
  for (Endpoint endpoint : {Endpoint::Completions, Endpoint::Chat}) {
    const bool isChat = endpoint == Endpoint::Chat;
    request.endpoint = endpoint;
    ordered_json whole = parse(writer().answer(answers, usage));
    EXPECT_EQ(whole["choices"][0]["token_ids"].dump(), "[3,4]");
    EXPECT_EQ((isChat ? whole : whole["choices"][0])["prompt_token_ids"].dump(),
              "[1,2]");
    ordered_json first = parse(writer().firstChunk(0, usage));
    EXPECT_EQ((isChat ? first : first["choices"][0])["prompt_token_ids"].dump(),
              "[1,2]");
    EXPECT_FALSE(first["choices"][0].contains("token_ids"));
    ordered_json next = parse(writer().chunk(0, piece, usage));
    EXPECT_EQ(next["choices"][0]["token_ids"].dump(), "[3,4]");
    EXPECT_FALSE(next.contains("prompt_token_ids"));
  }
}

TEST_F(AnswerWriterTest, WithoutAFingerprintItIsNull) {
  Expected<Model> bare =
      Model::create({.names = {"m"},
                     .tokenizer = text::test::make(testSpec().spec),
                     .vocabularySize = 267,
                     .contextLength = 10});
  AnswerWriter plain(request, *bare, "x", 1);
  EXPECT_TRUE(ordered_json::parse(plain.usageChunk(usage))["system_fingerprint"]
                  .is_null());
}

TEST(ChoicePieceTest, PiecesOfACallAreJoined) {
  ChoicePiece all;
  EXPECT_TRUE(all.empty());
  ChoicePiece first, second;
  first.text = "a";
  first.toolCalls = {{0, "id", "f", "{"}};
  second.text = "b";
  second.toolCalls = {{0, "", "", "}"}, {1, "id2", "g", "{}"}};
  all.append(first);
  all.append(second);
  EXPECT_EQ(all.text, "ab");
  ASSERT_EQ(all.toolCalls.size(), 2u);
  EXPECT_EQ(all.toolCalls[0].arguments, "{}");
  EXPECT_EQ(all.toolCalls[0].name, "f");
  EXPECT_EQ(all.toolCalls[1].index, 1);
}

} // namespace
