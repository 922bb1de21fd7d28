//===- ChatTemplate.cpp - renders a conversation as a prompt --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"

#include "runtime/jinja/Lexer.h"
#include "runtime/jinja/Parser.h"
#include "runtime/jinja/PythonText.h"
#include "runtime/jinja/TemplateInterpreter.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::text;
using namespace sluice::text::jinja;

using nlohmann::ordered_json;

struct ChatTemplate::Compiled {
  std::string source; ///< for the lines and columns of errors
  Template tree;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Compiled> compiled)
    : compiled(std::move(compiled)) {}

/// Returns `text`, or its start if it is long: messages can quote names of the
/// template or the content of a request.
static std::string shortened(std::string text) {
  size_t end = 1000;
  if (text.size() <= end)
    return text;
  while ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

/// Returns the message with its line and column in `source`.
static std::string withPlace(Position at, std::string_view message,
                             std::string_view source) {
  std::string_view before = source.substr(0, at.offset);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t column = 1 + codePointCount(before.substr(before.rfind('\n') + 1));
  return textFrom("line ", line, ", column ", column, ": ", message);
}

static Status located(Position at, std::string_view message,
                      std::string_view source) {
  return failure("chat template: ", withPlace(at, message, source));
}

static Status located(const TemplateError &error, std::string_view source) {
  return located(error.at, shortened(error.message), source);
}

Expected<ChatTemplate> ChatTemplate::compile(std::string_view text) {
  if (text.size() > maxTemplateBytes)
    return failure("chat template: longer than ", maxTemplateBytes, " bytes");
  if (!isValidUtf8(text))
    return failure("chat template: not valid UTF-8");
  auto compiled = std::make_shared<Compiled>();
  compiled->source = normalizeTemplate(text);
  try {
    compiled->tree = Parser(tokenize(compiled->source)).run();
  } catch (const TemplateError &error) {
    return located(error, compiled->source);
  }
  return ChatTemplate(std::move(compiled));
}

std::vector<std::string> ChatTemplate::unsupported() const {
  std::vector<std::string> messages;
  for (const Template::Refusal &refusal : compiled->tree.refusals)
    messages.push_back(
        withPlace(refusal.at, shortened(refusal.why), compiled->source));
  return messages;
}

/// The limits of renderings that test what a template does.
static constexpr RenderLimits probing{.outputBytes = size_t(1) << 20,
                                      .steps = 100'000,
                                      .valueBytes = size_t(16) << 20};

/// Renders these messages without the model's tokens and at a fixed time.
static Expected<std::string> probe(const ChatTemplate &chat,
                                   ordered_json messages) {
  ChatInput input;
  input.messages = std::move(messages);
  input.bosToken = "";
  input.eosToken = "";
  input.now = 0;
  return chat.render(input, probing);
}

/// Returns whether a user's `content` appears in the prompt as text. A template
/// that prints a list of parts as a whole also shows `dumped`, which a part
/// holds.
static bool showsContent(const ChatTemplate &chat, ordered_json content,
                         std::string_view dumped) {
  Expected<std::string> prompt =
      probe(chat, {{{"role", "user"}, {"content", std::move(content)}}});
  return prompt && prompt->find("sluice-text") != std::string::npos &&
         prompt->find(dumped) == std::string::npos;
}

/// Returns whether the template tests if the content of a message that calls
/// tools is null. `empty` is content without text in a form that the template
/// accepts.
static bool asksForNull(const ChatTemplate &chat, ordered_json empty) {
  auto prompt = [&](ordered_json content) {
    ordered_json call = {
        {"id", "sluice000"},
        {"type", "function"},
        {"function",
         {{"name", "sluice"}, {"arguments", ordered_json::object()}}}};
    return probe(chat, {{{"role", "user"}, {"content", "x"}},
                        {{"role", "assistant"},
                         {"content", std::move(content)},
                         {"tool_calls", ordered_json::array({call})}}});
  };
  Expected<std::string> withNull = prompt(nullptr);
  Expected<std::string> without = prompt(std::move(empty));
  return withNull && without && *withNull != *without &&
         withNull->find("None") == std::string::npos;
}

ContentForms ChatTemplate::contentForms() const {
  static constexpr std::string_view dumped = "sluice-dump";
  ContentForms forms;
  forms.parts = showsContent(
      *this, {{{"type", "text"}, {"text", "sluice-text"}, {"dumped", dumped}}},
      dumped);
  forms.text = !forms.parts || showsContent(*this, "sluice-text", dumped);
  forms.null = asksForNull(
      *this, forms.text ? ordered_json("")
                        : ordered_json{{{"type", "text"}, {"text", ""}}});
  return forms;
}

/// Converts `json` to a value.
static Value fromJson(Runtime &runtime, const ordered_json &json,
                      uint32_t level = 0) {
  if (level > maxValueDepth)
    runtime.fail("the input nests deeper than ", maxValueDepth, " levels");
  runtime.step();
  switch (json.type()) {
  case ordered_json::value_t::null:
    return Value::none();
  case ordered_json::value_t::boolean:
    return Value::boolean(json.get<bool>());
  case ordered_json::value_t::number_integer:
    return Value::integer(json.get<int64_t>());
  case ordered_json::value_t::number_unsigned:
    return Value::integer(json.get<uint64_t>());
  case ordered_json::value_t::number_float:
    return Value::real(json.get<double>());
  case ordered_json::value_t::string:
    return runtime.string(
        replaceInvalidUtf8(json.get_ref<const std::string &>()));
  case ordered_json::value_t::array: {
    std::vector<Value> items;
    for (const ordered_json &item : json)
      items.push_back(fromJson(runtime, item, level + 1));
    return runtime.list(std::move(items));
  }
  case ordered_json::value_t::object: {
    Dict dict;
    for (const auto &[key, value] : json.items())
      dict.entries.emplace_back(runtime.string(replaceInvalidUtf8(key)),
                                fromJson(runtime, value, level + 1));
    return runtime.dict(std::move(dict));
  }
  default:
    runtime.fail("the input holds something that is not JSON");
  }
}

/// Returns the variables of a rendering. A later variable hides an earlier one.
static TemplateInterpreter::Variables makeVariables(Runtime &runtime,
                                                    const ChatInput &input) {
  static constexpr std::string_view own[] = {"messages", "tools",
                                             "add_generation_prompt"};
  TemplateInterpreter::Variables variables;
  if (!input.messages.is_array())
    runtime.fail("the messages are not a list");
  if (!input.tools.is_array() && !input.tools.is_null())
    runtime.fail("the tools are not a list");
  if (!input.variables.is_object() && !input.variables.is_null())
    runtime.fail("the variables are not an object");
  if (input.bosToken)
    variables.emplace_back("bos_token",
                           runtime.string(replaceInvalidUtf8(*input.bosToken)));
  if (input.eosToken)
    variables.emplace_back("eos_token",
                           runtime.string(replaceInvalidUtf8(*input.eosToken)));
  variables.emplace_back("documents", Value::none());
  for (const auto &[name, value] : input.variables.items()) {
    if (std::find(std::begin(own), std::end(own), name) != std::end(own))
      runtime.fail("'", name, "' is not a variable that can be set");
    variables.emplace_back(name, fromJson(runtime, value));
  }
  variables.emplace_back("messages", fromJson(runtime, input.messages));
  variables.emplace_back("tools", fromJson(runtime, input.tools));
  variables.emplace_back("add_generation_prompt",
                         Value::boolean(input.addGenerationPrompt));
  return variables;
}

Expected<std::string>
ChatTemplate::render(const ChatInput &input, const RenderLimits &limits,
                     std::optional<std::string> *raised) const {
  Runtime runtime(limits, input.now ? *input.now : std::time(nullptr));
  TemplateInterpreter::Variables variables;
  try {
    variables = makeVariables(runtime, input);
  } catch (const TemplateError &error) {
    return failure("chat template: ", error.message);
  }
  try {
    return TemplateInterpreter(compiled->tree, runtime).run(variables);
  } catch (const RaisedError &error) {
    std::string text = shortened(error.message);
    if (raised)
      *raised = text;
    return located(error.at, "the template raised: " + text, compiled->source);
  } catch (const TemplateError &error) {
    return located(error, compiled->source);
  }
}
