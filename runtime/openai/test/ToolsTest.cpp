//===- ToolsTest.cpp - tools of a request, and forced calls ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Tools.h"
#include "TestApiModel.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <fstream>

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

using Choice = ToolUse::Choice;

namespace {

const char *const someTools = R"({"tools": [
  {"type": "function", "function": {"name": "get_weather",
    "description": "The weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"},
                   "unit": {"enum": ["c", "f"]}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "now", "strict": true}}]})";

class ToolsTest : public testing::Test {
protected:
  ApiExpected<ToolRequest> read(const std::string &extra,
                                const char *base = someTools) {
    GrammarBudget budget(context.limits);
    return readTools(ordered_json::parse(with(base, extra)), context, budget);
  }
  ToolRequest accept(const std::string &extra, const char *base = someTools) {
    ApiExpected<ToolRequest> request = read(extra, base);
    if (request)
      return request.take();
    ADD_FAILURE() << request.error().json();
    return {};
  }
  std::string refuse(const std::string &extra, const char *base = someTools) {
    return refusal(read(extra, base));
  }
  std::string refuseTools(const std::string &tools) {
    return refuse("{\"tools\": " + tools + "}");
  }
  /// Returns how much of `text` a forced answer can be.
  grammar::Match forced(const ToolRequest &request, std::string_view text) {
    EXPECT_EQ(request.grammar.kind, GrammarSource::Kind::JsonSchema);
    auto compiled = grammar::Grammar::fromJsonSchema(
        ordered_json::parse(request.grammar.text()));
    EXPECT_TRUE(compiled) << compiled.status().message();
    return grammar::match(*compiled, text);
  }
  void use(const std::string &marks) {
    model = makeModel(templateWith(marks));
    ASSERT_NE((*model.chatTemplate(true))->toolSyntax(), nullptr);
  }

  Model model = makeModel(hermesTemplate);
  RequestContext context = {model};
};

TEST_F(ToolsTest, AreShownAsTheyAreGiven) {
  ToolRequest request = accept("{}");
  EXPECT_EQ(request.use.choice, Choice::Auto);
  EXPECT_TRUE(request.use.parallel);
  EXPECT_EQ(request.use.names,
            (std::vector<std::string>{"get_weather", "now"}));
  EXPECT_EQ(request.use.syntax->name, "hermes");
  EXPECT_EQ(request.grammar.kind, GrammarSource::Kind::None);
  EXPECT_TRUE(request.promptEnd.empty());
  // Members keep their order; `strict` is not shown to the model.
  EXPECT_EQ(request.shown.dump(),
            R"([{"type":"function","function":{"name":"get_weather",)"
            R"("description":"The weather","parameters":{"type":"object",)"
            R"("properties":{"city":{"type":"string"},)"
            R"("unit":{"enum":["c","f"]}},"required":["city"]}}},)"
            R"({"type":"function","function":{"name":"now"}}])");
}

TEST_F(ToolsTest, NoneAreNotShown) {
  for (const char *extra :
       {R"({"tool_choice": "none"})", R"({"tools": []})", R"({"tools": null})",
        R"({"tools": null, "tool_choice": "auto"})"}) {
    ToolRequest request = accept(extra);
    EXPECT_EQ(request.use.choice, Choice::None) << extra;
    EXPECT_TRUE(request.shown.is_null()) << extra;
  }
}

static std::string toolWith(const std::string &parameters) {
  return R"({"tools": [{"type": "function", "function": {"name": "f",
             "strict": true, "parameters": )" +
         parameters + "}}]}";
}

/// With auto nothing is forced, but a schema that could not be forced is
/// refused.
TEST_F(ToolsTest, StrictSchemasAreOnesThatCanBeKept) {
  std::string odd = toolWith(R"({"type": "object", "not": {}})");
  std::string refused = refuse(odd);
  EXPECT_TRUE(refused.starts_with("tools[0].function.parameters: ")) << refused;
  EXPECT_EQ(accept(toolWith(R"({"type": "object"})")).use.choice, Choice::Auto);
  ordered_json lax = ordered_json::parse(odd);
  lax["tools"][0]["function"]["strict"] = false;
  EXPECT_EQ(accept(lax.dump()).use.choice, Choice::Auto);
}

TEST_F(ToolsTest, ForcedSchemasAreNotTooLong) {
  ordered_json body = ordered_json::parse(toolWith(R"({"type": "object"})"));
  body["tools"][0]["function"]["parameters"]["description"] =
      std::string(GrammarSource::maxBytes, 'x');
  const std::string tooLong = "tools[0].function.parameters: "
                              "'tools[0].function.parameters' takes 1048610 "
                              "bytes, more than 1048576";
  EXPECT_EQ(refuse(body.dump()), tooLong);
  body["tools"][0]["function"]["strict"] = false;
  // Nothing is forced, so no grammar is sent.
  EXPECT_EQ(accept(body.dump()).use.choice, Choice::Auto);
  body["tool_choice"] = "required";
  EXPECT_EQ(refuse(body.dump()), tooLong);
}

/// Returns tools with `strict` and schemas of slightly more than `bytes` bytes.
static ordered_json strictTools(int count, size_t bytes) {
  ordered_json tools = ordered_json::array();
  for (int i = 0; i < count; ++i)
    tools.push_back(
        {{"type", "function"},
         {"function",
          {{"name", "f" + std::to_string(i)},
           {"strict", true},
           {"parameters",
            {{"type", "object"},
             {"description", std::to_string(i) + std::string(bytes, 'x')}}}}}});
  return {{"tools", tools}};
}

/// Each schema by itself would be within the limits.
TEST_F(ToolsTest, StrictSchemasShareTheRequestsLimits) {
  EXPECT_EQ(refuse(strictTools(2, 500000).dump()), "accepted");
  ordered_json body = strictTools(3, 500000);
  EXPECT_EQ(refuse(body.dump()),
            "tools[2].function.parameters: 'tools[2].function.parameters' "
            "takes 1500105 bytes with the schemas before it, more than "
            "1048576");
  body = strictTools(2, 500000);
  body["messages"] = ordered_json::array();
  body["json_schema"] = {{"description", std::string(100000, 'x')}};
  EXPECT_EQ(refusal(parseChatRequest(body.dump(), context)),
            "json_schema: 'json_schema' takes 1100088 bytes with the schemas "
            "before it, more than 1048576");
  body = strictTools(128, 10);
  body["tools"][0]["function"]["parameters"]["title"] = "takes too long";
  context.limits.grammarWork.time = std::chrono::milliseconds(0);
  EXPECT_EQ(refuse(body.dump()),
            "tools[0].function.parameters: 'tools[0].function.parameters': "
            "JSON schema: it takes more than 0 s");
  // If no time is left to find the wrong schema, none is named.
  body["tool_choice"] = "required";
  EXPECT_EQ(refuse(body.dump()), "tools: 'tools': JSON schema: it takes more "
                                 "than 0 s");
}

struct Wrong {
  const char *json;
  const char *refusal;
};

TEST_F(ToolsTest, DefinitionsAreChecked) {
  const Wrong wrong[] = {
      {"{}", "tools: 'tools' is an object, not an array"},
      {"[3]", "tools[0]: 'tools[0]' is an integer, not an object"},
      {"[{}]",
       "tools[0].type: 'tools[0].type' is ''; only functions are supported"},
      {R"([{"type": "custom"}])", "tools[0].type: 'tools[0].type' is 'custom'; "
                                  "only functions are supported"},
      {R"([{"type": "function"}])",
       "tools[0].function: 'tools[0].function' is missing"},
      {R"([{"type": "function", "function": {}}])",
       "tools[0].function.name: 'tools[0].function.name' is '', not 1 to 64 "
       "letters, digits, _ and -"},
      {R"([{"type": "function", "function": {"name": "a b"}}])",
       "tools[0].function.name: 'tools[0].function.name' is 'a b', not 1 to 64 "
       "letters, digits, _ and -"},
      {R"([{"type": "function", "function": {"name": "f",
           "description": 3}}])",
       "tools[0].function.description: 'tools[0].function.description' is an "
       "integer, not a string"},
      {R"([{"type": "function", "function": {"name": "f",
           "parameters": []}}])",
       "tools[0].function.parameters: 'tools[0].function.parameters' is an "
       "array, not an object"},
      {R"([{"type": "function", "function": {"name": "f", "strict": 1}}])",
       "tools[0].function.strict: 'tools[0].function.strict' is an integer, "
       "not a boolean"},
      {R"([{"type": "function", "function": {"name": "f"}},
           {"type": "function", "function": {"name": "f"}}])",
       "tools[1].function.name: 'tools[1].function.name' is 'f', as another "
       "function's"},
  };
  for (const Wrong &it : wrong)
    EXPECT_EQ(refuseTools(it.json), it.refusal) << it.json;
  context.limits.tools = 1;
  EXPECT_EQ(refuse("{}"), "tools: 'tools' has 2 tools, more than 1");
}

TEST_F(ToolsTest, ChoicesAreChecked) {
  const Wrong wrong[] = {
      {R"({"tool_choice": "any"})",
       "tool_choice: 'tool_choice' is 'any', not none, auto, required or a "
       "function"},
      {R"({"tool_choice": 3})",
       "tool_choice: 'tool_choice' is an integer, not a string or an object"},
      {R"({"tool_choice": {"type": "allowed_tools"}})",
       "tool_choice.type: 'tool_choice.type' is 'allowed_tools'; only a "
       "function can be named"},
      {R"({"tool_choice": {"type": "function"}})",
       "tool_choice.function: 'tool_choice.function' is missing"},
      {R"({"tool_choice": {"type": "function", "function": {}}})",
       "tool_choice.function.name: 'tool_choice.function.name' is missing"},
      {R"({"tool_choice": {"type": "function", "function": {"name": "x"}}})",
       "tool_choice: 'tool_choice' names the function 'x', which is not in "
       "'tools'"},
      {R"({"tools": [], "tool_choice": "required"})",
       "tool_choice: 'tool_choice' asks for a call, but there are no 'tools'"},
      {R"({"parallel_tool_calls": "no"})",
       "parallel_tool_calls: 'parallel_tool_calls' is a string, not a "
       "boolean"},
  };
  for (const Wrong &it : wrong)
    EXPECT_EQ(refuse(it.json), it.refusal) << it.json;
}

TEST_F(ToolsTest, ModelsWithoutToolsSaySo) {
  model = makeModel(chatml);
  EXPECT_EQ(refuse("{}"),
            "tools: 'tools': this model's chat template knows no tools");
  EXPECT_EQ(refuse(R"({"tool_choice": "none"})"), "accepted");
  model = makeModel(templateWith("something else"));
  EXPECT_EQ(refuse("{}"), "tools: 'tools': the form in which this model calls "
                          "tools is not supported");
}

// The end of the prompt and the forced answer, for each syntax.
TEST_F(ToolsTest, ForcesHermes) {
  ToolRequest request = accept(R"({"tool_choice": "required"})");
  EXPECT_EQ(request.promptEnd, "<tool_call>\n");
  EXPECT_EQ(forced(request, R"({"name": "get_weather", "arguments": )"
                            R"({"city": "Oslo", "unit": "c"}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "now", "arguments": {}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "now"})"), grammar::Match::None);
  EXPECT_EQ(forced(request, R"({"name": "other")"), grammar::Match::None);
  EXPECT_EQ(forced(request, R"({"name": "now", "arguments": {"city")"),
            grammar::Match::None);
  EXPECT_EQ(forced(request, R"({"name": "get_weather", "arguments": {}})"),
            grammar::Match::None);
  EXPECT_EQ(forced(request, "Hello"), grammar::Match::None);
  EXPECT_EQ(forced(request, "[{"), grammar::Match::None);
}

TEST_F(ToolsTest, ForcesANamedFunction) {
  ToolRequest request = accept(R"({"tool_choice": {"type": "function",
                                   "function": {"name": "now"}}})");
  EXPECT_EQ(request.use.choice, Choice::Named);
  EXPECT_EQ(request.promptEnd, "<tool_call>\n");
  EXPECT_TRUE(request.use.nameInPrompt.empty());
  EXPECT_EQ(forced(request, R"({"name": "now", "arguments": {}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "get)"), grammar::Match::None);
}

TEST_F(ToolsTest, ForcesLlama) {
  use("<|python_tag|>");
  ToolRequest request = accept(R"({"tool_choice": "required"})");
  EXPECT_EQ(request.promptEnd, "");
  EXPECT_EQ(forced(request, R"({"name": "now", "parameters": {}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "now", "arguments")"),
            grammar::Match::None);
}

TEST_F(ToolsTest, ForcesMistral) {
  use("[TOOL_CALLS]");
  ToolRequest request = accept(R"({"tool_choice": "required"})");
  EXPECT_EQ(request.promptEnd, "[TOOL_CALLS]");
  const char *one = R"([{"name": "now", "arguments": {}}])";
  const char *two = R"([{"name": "now", "arguments": {}}, )"
                    R"({"name": "get_weather", "arguments": {"city": "x"}}])";
  EXPECT_EQ(forced(request, one), grammar::Match::Whole);
  EXPECT_EQ(forced(request, two), grammar::Match::Whole);
  EXPECT_EQ(forced(request, "[]"), grammar::Match::None);
  EXPECT_EQ(forced(request, "{"), grammar::Match::None);
  request =
      accept(R"({"tool_choice": "required", "parallel_tool_calls": false})");
  EXPECT_EQ(forced(request, one), grammar::Match::Whole);
  EXPECT_EQ(forced(request, two), grammar::Match::None);
}

TEST_F(ToolsTest, ForcesMistralWithArguments) {
  use("[TOOL_CALLS] [ARGS]");
  ToolRequest request = accept(R"({"tool_choice": {"type": "function",
                                   "function": {"name": "get_weather"}}})");
  EXPECT_EQ(request.promptEnd, "[TOOL_CALLS]get_weather[ARGS]");
  EXPECT_EQ(request.use.nameInPrompt, "get_weather");
  EXPECT_EQ(forced(request, R"({"city": "Oslo"})"), grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"unit")"), grammar::Match::None);
  // If the model may choose between functions, the name is part of the JSON.
  request = accept(R"({"tool_choice": "required"})");
  EXPECT_EQ(request.promptEnd, "[TOOL_CALLS]");
  EXPECT_EQ(forced(request, R"([{"name": "now", "arguments": {}}])"),
            grammar::Match::Whole);
}

TEST_F(ToolsTest, ForcesGranite) {
  use("<|tool_call|>");
  ToolRequest request = accept(R"({"tool_choice": "required"})");
  EXPECT_EQ(request.promptEnd, "<|tool_call|>");
  EXPECT_EQ(forced(request, R"([{"name": "now", "arguments": {}}])"),
            grammar::Match::Whole);
}

TEST_F(ToolsTest, ReferencesOfSchemasStayRight) {
  const char *recursive = R"({"tool_choice": "required", "tools": [
    {"type": "function", "function": {"name": "f", "parameters": {
      "type": "object", "properties": {"tree": {"$ref": "#/$defs/node"},
        "note": {"const": {"$ref": "#/$defs/data"}}},
      "required": ["tree"], "$defs": {"node": {"type": "object",
        "properties": {"child": {"$ref": "#/$defs/node"}}}}}}},
    {"type": "function", "function": {"name": "g", "parameters": {
      "type": "object", "properties": {"self": {"$ref": "#"}}}}}]})";
  ToolRequest request = accept("{}", recursive);
  EXPECT_EQ(forced(request, R"({"name": "f", "arguments": {"tree": )"
                            R"({"child": {"child": {}}}}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "f", "arguments": {"tree": )"
                            R"({"other)"),
            grammar::Match::None);
  EXPECT_EQ(forced(request, R"({"name": "f", "arguments": {"tree": {}, )"
                            R"("note": {"$ref": "#/$defs/data"}}})"),
            grammar::Match::Whole);
  EXPECT_EQ(forced(request, R"({"name": "g", "arguments": {"self": )"
                            R"({"self": {}}}})"),
            grammar::Match::Whole);
}

/// Properties may have the names of keywords, and definitions any name.
TEST_F(ToolsTest, NamesInSchemasAreNoKeywords) {
  for (std::string name : {"default", "example", "examples", "const", "enum"}) {
    std::string tools = R"({"tool_choice": "required", "tools": [
      {"type": "function", "function": {"name": "f", "parameters": {
        "$id": "https://example.org/f", "type": "object",
        "properties": {"NAME": {"$ref": "#/$defs/NAME"}},
        "required": ["NAME"], "$defs": {"NAME": {"$ref": "#/$defs/f0"},
                                        "f0": {"enum": ["C", "F"]}}}}}]})";
    for (size_t at; (at = tools.find("NAME")) != std::string::npos;)
      tools.replace(at, 4, name);
    ToolRequest request = accept("{}", tools.c_str());
    std::string start = R"({"name": "f", "arguments": {")" + name + "\": ";
    EXPECT_EQ(forced(request, start + R"("F"}})"), grammar::Match::Whole);
    EXPECT_EQ(forced(request, start + R"("G)"), grammar::Match::None);
    EXPECT_EQ(forced(request, start + "{"), grammar::Match::None);
  }
}

TEST_F(ToolsTest, SchemasThatDoNotCompileAreNamed) {
  std::string refused = refuse(R"({"tool_choice": "required", "tools": [
    {"type": "function", "function": {"name": "ok"}},
    {"type": "function", "function": {"name": "f", "parameters":
      {"type": "object", "properties": {"a": {"not": {}}}}}}]})");
  EXPECT_TRUE(refused.starts_with("tools[1].function.parameters: ")) << refused;
  // If nothing is forced, schemas are only shown.
  EXPECT_EQ(refuse(R"({"tools": [{"type": "function", "function": {"name": "f",
                "parameters": {"properties": {"a": {"not": {}}}}}}]})"),
            "accepted");
}

// Whole requests.

TEST_F(ToolsTest, RequestsShowAndForceTools) {
  GenerationRequest request = parsed(parseChatRequest(
      with(plainChat, with(someTools, R"({"tool_choice": "required"})")),
      context));
  ASSERT_EQ(request.requests.size(), 1u);
  const RequestSpec &spec = request.requests[0].spec;
  std::string prompt = textOf(model, spec.prompt);
  EXPECT_TRUE(prompt.starts_with("{\"type\": \"function\", \"function\": "
                                 "{\"name\": \"get_weather\""))
      << prompt;
  EXPECT_TRUE(prompt.ends_with("<|im_start|>assistant\n<tool_call>\n"))
      << prompt;
  EXPECT_EQ(spec.grammar.kind, GrammarSource::Kind::JsonSchema);
  EXPECT_EQ(request.tools.choice, Choice::Required);
}

TEST_F(ToolsTest, FormsOfTheAnswerAndTools) {
  auto refuseChat = [&](const std::string &extra) {
    return refusal(
        parseChatRequest(with(plainChat, with(someTools, extra)), context));
  };
  const std::string json = R"("response_format": {"type": "json_object"})";
  EXPECT_EQ(refuseChat("{" + json + "}"),
            "tool_choice: 'tool_choice' auto is not supported where the answer "
            "has a form to keep to, which calls of tools have not; set it to "
            "none or required");
  EXPECT_EQ(refuseChat("{" + json + R"(, "tool_choice": "none"})"), "accepted");
  EXPECT_EQ(refuseChat("{" + json + R"(, "tool_choice": "required"})"),
            "accepted");
  EXPECT_EQ(refuseChat(R"({"tool_choice": "required",
                           "add_generation_prompt": false})"),
            "add_generation_prompt: 'add_generation_prompt' must be true where "
            "'tool_choice' forces a call");
  EXPECT_EQ(refuseChat(R"({"tool_choice": "required", "ignore_eos": true})"),
            "ignore_eos: 'ignore_eos' is not supported where the answer has a "
            "form to keep to");
}

TEST_F(ToolsTest, ConversationsWithCallsAreRendered) {
  ordered_json body = ordered_json::parse(R"({"messages": [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function":
        {"name": "f", "arguments": "{\"b\": [1, 2.50], \"a\": \"é\"}"}},
      {"id": "call_2", "type": "function", "function":
        {"name": "g", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "7"},
    {"role": "tool", "tool_call_id": "call_2",
     "content": [{"type": "text", "text": "8"}]}]})");
  GenerationRequest request = parsed(parseChatRequest(body.dump(), context));
  ASSERT_EQ(request.requests.size(), 1u);
  EXPECT_EQ(textOf(model, request.requests[0].spec.prompt),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": [1, 2.5], "
            "\"a\": \"é\"}}\n</tool_call>"
            "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>"
            "<|im_end|>\n<|im_start|>tool\n7[call_1]<|im_end|>\n"
            "<|im_start|>tool\n8[call_2]<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(ToolsTest, CallsInConversationsAreChecked) {
  auto refuseCalls = [&](const std::string &calls) {
    return refusal(parseChatRequest(
        R"({"messages": [{"role": "assistant", "tool_calls": )" + calls + "}]}",
        context));
  };
  const std::string call = "messages[0].tool_calls[0]";
  auto wrong = [&](const std::string &field, const std::string &why) {
    return call + field + ": '" + call + field + "' " + why;
  };
  EXPECT_EQ(refuseCalls("{}"),
            "messages[0].tool_calls: 'messages[0].tool_calls' is an object, "
            "not an array");
  EXPECT_EQ(refuseCalls("[3]"), wrong("", "is an integer, not an object"));
  EXPECT_EQ(refuseCalls("[{}]"), wrong(".function", "is missing"));
  EXPECT_EQ(refuseCalls(R"([{"type": "custom"}])"),
            wrong(".type", "is 'custom', not function"));
  EXPECT_EQ(refuseCalls(R"([{"function": {}}])"),
            wrong(".function.name", "is missing"));
  EXPECT_EQ(refuseCalls(R"([{"function": {"name": "f", "arguments": 3}}])"),
            wrong(".function.arguments", "is an integer, not JSON in a "
                                         "string"));
}

TEST(ToolSyntaxTest, IsFoundInPublishedTemplates) {
  auto syntaxOf = [](const std::string &name) -> std::string {
    std::ifstream file(SLUICE_CHAT_TEMPLATES + name + ".jinja");
    EXPECT_TRUE(file) << name;
    std::string text(std::istreambuf_iterator<char>(file), {});
    const ToolSyntax *syntax = toolSyntaxOf(text);
    return syntax ? std::string(syntax->name) : "none";
  };
  EXPECT_EQ(syntaxOf("qwen25"), "hermes");
  EXPECT_EQ(syntaxOf("qwen3"), "hermes");
  EXPECT_EQ(syntaxOf("llama31"), "llama");
  EXPECT_EQ(syntaxOf("mistral-v3"), "mistral");
  EXPECT_EQ(syntaxOf("mistral-tekken"), "mistral");
  EXPECT_EQ(syntaxOf("command-r"), "none");
  EXPECT_EQ(syntaxOf("chatml"), "none");
  EXPECT_EQ(syntaxOf("llama3"), "none");
  EXPECT_EQ(syntaxOf("gemma3"), "none");
}

} // namespace
