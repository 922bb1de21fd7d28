//===- ToolCallParserTest.cpp - tool calls in a model's text --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ToolCallParser.h"
#include "TestApiModel.h"

#include <fstream>

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

/// Returns "TEXT" and for each call "|INDEX NAME ARGUMENTS"; ids must be
/// present.
std::string show(const ChoicePiece &piece) {
  std::string out = piece.text;
  for (const ToolCallDelta &call : piece.toolCalls) {
    out += "|" + std::to_string(call.index) + " " + call.name + " " +
           call.arguments;
    EXPECT_FALSE(call.id.empty());
  }
  return out;
}

class ToolCallParserTest : public testing::Test {
protected:
  void SetUp() override { use("<tool_call>"); }

  void use(const char *marks) {
    tools.choice = ToolUse::Choice::Auto;
    tools.names = {"f", "g"};
    tools.syntax = toolSyntaxOf(std::string("tools ") + marks);
    ASSERT_NE(tools.syntax, nullptr);
  }

  ChoicePiece parseIn(std::string_view text, size_t size) const {
    ToolCallParser parser(tools, 1);
    ChoicePiece all;
    for (size_t at = 0; at < text.size(); at += size)
      all.append(parser.push(text.substr(at, size)));
    all.append(parser.finish());
    return all;
  }

  /// Parses a text, and expects the same result however it is cut.
  std::string parse(std::string_view text) const {
    std::string whole = show(parseIn(text, text.size() + 1));
    for (size_t size = 1; size < 8; ++size)
      EXPECT_EQ(show(parseIn(text, size)), whole) << size << ": " << text;
    return whole;
  }

  ToolUse tools;
};

TEST_F(ToolCallParserTest, TextIsText) {
  EXPECT_EQ(parse("Hello, <b>you</b> \n"), "Hello, <b>you</b> \n");
  EXPECT_EQ(parse("a <tool_cal"), "a <tool_cal");
  EXPECT_EQ(parse(" \n{\"name\": \"f\"}"), " \n{\"name\": \"f\"}");
  EXPECT_EQ(parse("a</tool_call>b"), "a</tool_call>b");
  EXPECT_EQ(parse(std::string(5000, ' ') + "x"), std::string(5000, ' ') + "x");
  EXPECT_EQ(parse(""), "");
}

TEST_F(ToolCallParserTest, ReadsHermes) {
  EXPECT_EQ(parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
                  "[1, \"}\"]}}\n</tool_call>"),
            "|0 f {\"a\": [1, \"}\"]}");
  EXPECT_EQ(parse("Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": "
                  "{}}\n</tool_call>\n<tool_call>\n{\"name\": \"h\", "
                  "\"arguments\": {\"q\": \"\\\"é\"}}\n</tool_call>\n"),
            "Let me see.|0 f {}|1 h {\"q\": \"\\\"é\"}");
  // Text after a call; a missing end.
  EXPECT_EQ(parse("<tool_call>{\"name\": \"f\", \"arguments\": {}}"
                  "</tool_call>\n Done. "),
            "Done. |0 f {}");
  EXPECT_EQ(parse("<tool_call>{\"name\": \"f\", \"arguments\": {}}"
                  "<tool_call>{\"name\": \"g\", \"arguments\": {}}"),
            "|0 f {}|1 g {}");
  // An array of calls, as some models write.
  EXPECT_EQ(parse("<tool_call>[{\"name\": \"f\", \"arguments\": {}}, "
                  "{\"name\": \"g\", \"arguments\": {}}]</tool_call>"),
            "|0 f {}|1 g {}");
}

TEST_F(ToolCallParserTest, MembersComeInAnyOrder) {
  EXPECT_EQ(parse("<tool_call>{\"arguments\": {\"a\": 1}, \"id\": 3, "
                  "\"name\": \"f\"}</tool_call>"),
            "|0 f {\"a\": 1}");
  EXPECT_EQ(parse("<tool_call>{\"name\": \"f\", \"x\": [{\"name\": 1}], "
                  "\"parameters\": {\"a\": 1}}</tool_call>"),
            "|0 f {\"a\": 1}");
  EXPECT_EQ(parse("<tool_call>{\"name\":\"f\"}</tool_call>"), "|0 f {}");
  // Arguments as JSON in a string, and names with escapes.
  EXPECT_EQ(parse("<tool_call>{\"name\": \"\\u0066\", \"arguments\": "
                  "\"{\\\"a\\\": 1}\"}</tool_call>"),
            "|0 f {\"a\": 1}");
  EXPECT_EQ(parse("<tool_call>{\"name\": \"f\", \"arguments\": null }"
                  "</tool_call>"),
            "|0 f null");
}

TEST_F(ToolCallParserTest, WhatIsNoCallIsText) {
  for (const char *text :
       {"<tool_call>hello</tool_call>", "<tool_call>{\"a\": 1}",
        "<tool_call>{\"name\": 3}", "<tool_call>{\"name\": \"\"}",
        "<tool_call>{name: \"f\"}", "<tool_call>{\"name\" \"f\"}",
        "<tool_call>\n{\"name\": \"f", "<tool_call>", "<tool_call> [",
        "<tool_call>[1]", "<tool_call>{\"arguments\": {\"a\": 1}",
        "<tool_call>{\"name\": }", "<tool_call>{,}"})
    EXPECT_EQ(parse(text), text);
  // The next call counts nevertheless.
  EXPECT_EQ(parse("<tool_call><tool_call>{\"name\": \"f\"}"),
            "<tool_call>|0 f {}");
  std::string name(2000, 'n');
  EXPECT_EQ(parse("<tool_call>{\"name\": \"" + name + "\"}"),
            "<tool_call>{\"name\": \"" + name + "\"}");
}

TEST_F(ToolCallParserTest, ACallThatIsCutOffIsToldAsFarAsItGot) {
  EXPECT_EQ(parse("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
            "|0 f {\"a\": \"b");
  EXPECT_EQ(parse("<tool_call>[{\"name\": \"f\", \"arguments\": {}}, "),
            "|0 f {}");
}

TEST_F(ToolCallParserTest, ReadsLlama) {
  use("<|python_tag|>");
  EXPECT_EQ(parse("{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}"),
            "|0 f {\"a\": \"b\"}");
  EXPECT_EQ(parse(" \n{\"type\": \"function\", \"name\": \"f\", "
                  "\"parameters\": {}}"),
            "|0 f {}");
  EXPECT_EQ(parse("<|python_tag|>{\"name\": \"f\", \"parameters\": {}}"),
            "|0 f {}");
  EXPECT_EQ(parse("{\"name\": \"f\", \"parameters\": {}}; "
                  "{\"name\": \"g\", \"parameters\": {}}"),
            "|0 f {}|1 g {}");
  EXPECT_EQ(parse("<|python_tag|>{\"name\": \"f\", \"parameters\": {}}\n"
                  "{\"name\": \"g\", \"parameters\": {}}"),
            "|0 f {}|1 g {}");
  // Other JSON is text, and so is a call of an unknown function.
  for (const char *text :
       {"{\"answer\": {\"name\": \"f\"}}", "{\"name\": \"Bob\", \"age\": 3}",
        "{}", "[{\"name\": \"f\", \"parameters\": {}}]",
        "x {\"name\": \"f\", \"parameters\": {}}",
        "<|python_tag|>brave_search.call(query=\"x\")"})
    EXPECT_EQ(parse(text), text);
}

TEST_F(ToolCallParserTest, JsonAnswersOfLlamaAreNotHeldBack) {
  use("<|python_tag|>");
  ToolCallParser parser(tools, 1);
  EXPECT_EQ(parser.push("{\"answer\"").text, "");
  EXPECT_EQ(parser.push(":").text, "{\"answer\":");
  EXPECT_EQ(parser.push(" 42").text, " 42");
}

TEST_F(ToolCallParserTest, ReadsMistral) {
  use("[TOOL_CALLS]");
  EXPECT_EQ(parse("[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, "
                  "\"id\": \"abcdefghi\"}, {\"name\": \"g\", "
                  "\"arguments\": {}}]"),
            "|0 f {\"a\": 1}|1 g {}");
  EXPECT_EQ(parse("Text[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]"),
            "Text|0 f {}");
}

TEST_F(ToolCallParserTest, ReadsMistralWithArguments) {
  use("[TOOL_CALLS] [ARGS]");
  EXPECT_EQ(parse("[TOOL_CALLS]f[ARGS]{\"a\": {}}[TOOL_CALLS]g[ARGS]{}"),
            "|0 f {\"a\": {}}|1 g {}");
  EXPECT_EQ(parse("[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{\"a\": 1}"),
            "|0 f {\"a\": 1}");
  EXPECT_EQ(parse("[TOOL_CALLS]f {\"a\": 1}"), "|0 f {\"a\": 1}");
  std::string text(2000, 'n');
  EXPECT_EQ(parse("[TOOL_CALLS]" + text), "[TOOL_CALLS]" + text);
  EXPECT_EQ(parse("[TOOL_CALLS]na"), "[TOOL_CALLS]na");
}

TEST_F(ToolCallParserTest, ReadsGranite) {
  use("<|tool_call|>");
  EXPECT_EQ(parse("<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]"),
            "|0 f {}");
}

TEST_F(ToolCallParserTest, OneCallAtMost) {
  tools.parallel = false;
  ToolCallParser parser(tools, 1);
  ChoicePiece piece =
      parser.push("<tool_call>{\"name\": \"f\", \"arguments\": {}}");
  EXPECT_EQ(show(piece), "|0 f {}");
  EXPECT_TRUE(parser.isComplete());
  EXPECT_TRUE(parser.push("</tool_call><tool_call>{\"name\": \"g\"}").empty());
  EXPECT_TRUE(parser.finish().empty());
  EXPECT_EQ(parser.calls(), 1);
}

TEST_F(ToolCallParserTest, ForcedCallsBeginInTheBody) {
  tools.choice = ToolUse::Choice::Required;
  EXPECT_EQ(parse("{\"name\": \"f\", \"arguments\": {\"a\": 1}}"),
            "|0 f {\"a\": 1}");
  use("[TOOL_CALLS]");
  tools.choice = ToolUse::Choice::Required;
  EXPECT_EQ(parse("[{\"name\": \"f\", \"arguments\": {}}, "
                  "{\"name\": \"g\", \"arguments\": {}}]"),
            "|0 f {}|1 g {}");
  tools.choice = ToolUse::Choice::Named;
  EXPECT_EQ(parse("[{\"name\": \"f\", \"arguments\": {}}]"), "|0 f {}");
  use("[TOOL_CALLS] [ARGS]");
  tools.choice = ToolUse::Choice::Named;
  tools.nameInPrompt = "g";
  EXPECT_EQ(parse(" {\"a\": 1}"), "|0 g {\"a\": 1}");
}

TEST_F(ToolCallParserTest, CallsStreamAsTheyAreWritten) {
  ToolCallParser parser(tools, 1);
  EXPECT_TRUE(parser.push("<tool_call>{\"name\": \"f").empty());
  ChoicePiece piece = parser.push("\", ");
  ASSERT_EQ(piece.toolCalls.size(), 1u);
  EXPECT_EQ(piece.toolCalls[0].name, "f");
  EXPECT_FALSE(piece.toolCalls[0].id.empty());
  EXPECT_EQ(piece.toolCalls[0].arguments, "");
  piece = parser.push("\"arguments\": {\"a\"");
  ASSERT_EQ(piece.toolCalls.size(), 1u);
  EXPECT_EQ(piece.toolCalls[0].name, "");
  EXPECT_EQ(piece.toolCalls[0].id, "");
  EXPECT_EQ(piece.toolCalls[0].arguments, "{\"a\"");
  piece = parser.push(": 1}}</tool_call><tool_call>{\"name\":\"g\"}");
  ASSERT_EQ(piece.toolCalls.size(), 2u);
  EXPECT_EQ(piece.toolCalls[0].arguments, ": 1}");
  EXPECT_EQ(piece.toolCalls[0].index, 0);
  EXPECT_EQ(piece.toolCalls[1].arguments, "{}");
  EXPECT_EQ(piece.toolCalls[1].index, 1);
}

TEST_F(ToolCallParserTest, IdsAreAsTheTemplateWants) {
  const char *text = "<tool_call>{\"name\":\"f\"}<tool_call>{\"name\":\"f\"}";
  ChoicePiece piece = parseIn(text, 100);
  ASSERT_EQ(piece.toolCalls.size(), 2u);
  EXPECT_TRUE(piece.toolCalls[0].id.starts_with("call_"));
  EXPECT_EQ(piece.toolCalls[0].id.size(), 29u);
  EXPECT_NE(piece.toolCalls[0].id, piece.toolCalls[1].id);
  use("[TOOL_CALLS]");
  piece = parseIn("[TOOL_CALLS][{\"name\":\"f\"}]", 100);
  ASSERT_EQ(piece.toolCalls.size(), 1u);
  EXPECT_EQ(piece.toolCalls[0].id.size(), 9u);
  for (char c : piece.toolCalls[0].id)
    EXPECT_TRUE(isalnum(static_cast<unsigned char>(c))) << c;
}

// A model learns to write calls as its template does, so the parser must find
// the same call in the template's text.
TEST_F(ToolCallParserTest, ReadsWhatPublishedTemplatesWrite) {
  const std::pair<const char *, const char *> templates[] = {
      {"qwen25", "<|im_end|>\n"},  {"qwen3", "<|im_end|>\n"},
      {"llama31", "<|eot_id|>"},   {"mistral-v3", "<end>"},
      {"mistral-tekken", "<end>"},
  };
  for (const auto &[name, end] : templates) {
    std::ifstream file(SLUICE_CHAT_TEMPLATES + std::string(name) + ".jinja");
    std::string source(std::istreambuf_iterator<char>(file), {});
    Expected<text::ChatTemplate> chat = text::ChatTemplate::compile(source);
    ASSERT_TRUE(chat) << name << ": " << chat.status().message();
    text::ChatInput input;
    input.bosToken = "<s>";
    input.eosToken = "<end>";
    input.now = 0;
    input.messages =
        ordered_json::parse(R"([{"role": "user", "content": "Hi"}])");
    std::string before = *chat->render(input);
    input.addGenerationPrompt = false;
    input.messages.push_back(ordered_json::parse(
        R"({"role": "assistant", "content": "", "tool_calls": [{"id":
            "abcdefghi", "type": "function", "function": {"name": "f",
            "arguments": {"a": [1, "\"}"], "b": {}}}}]})"));
    std::string text = *chat->render(input);
    ASSERT_TRUE(text.starts_with(before.substr(0, 5))) << text;
    size_t common = 0;
    while (common < before.size() && text[common] == before[common])
      ++common;
    text.erase(0, common);
    ASSERT_TRUE(text.ends_with(end)) << name << ": " << text;
    text.resize(text.size() - std::string_view(end).size());
    tools.syntax = toolSyntaxOf(source);
    ASSERT_NE(tools.syntax, nullptr) << name;
    // Qwen 3's thoughts come first and are text.
    std::string thought =
        text.starts_with("<think>") ? "<think>\n\n</think>" : "";
    EXPECT_EQ(parse(text), thought + "|0 f {\"a\": [1, \"\\\"}\"], \"b\": {}}")
        << name;
  }
}

} // namespace
