//===- ChatPrompt.cpp - the prompt of a conversation ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ChatPrompt.h"

#include "runtime/openai/Messages.h"
#include "runtime/text/JsonTree.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::openai;

static constexpr std::string_view efforts[] = {
    "none", "minimal", "low", "medium", "high", "xhigh", "max"};

/// Reads the template's variables other than the conversation.
static void readVariables(FieldReader &fields, const PromptTemplate &chat,
                          text::ChatInput &input) {
  constexpr size_t ours = 2; // the members that are added below
  const ordered_json none = ordered_json::object();
  const ordered_json *given = fields.members("chat_template_kwargs");
  input.variables =
      std::move(text::JsonTree::copyOf(given ? *given : none, ours).root());
  std::string effort;
  fields.text("reasoning_effort", effort);
  if (!effort.empty() && std::find(std::begin(efforts), std::end(efforts),
                                   effort) == std::end(efforts))
    fields.fail("reasoning_effort", "is '", effort.substr(0, 40),
                "', not none, minimal, low, medium, high, xhigh or max");
  const ordered_json *documents = fields.array("documents");
  for (std::string_view name : {"reasoning_effort", "documents"})
    if (fields.find(name) && !chat.mentions(name))
      fields.fail(name, "is not supported: this model's chat template does not "
                        "use it");
  if (!effort.empty())
    input.variables["reasoning_effort"] = effort;
  if (documents)
    input.variables["documents"] =
        std::move(text::JsonTree::copyOf(*documents).root());
}

static std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\n\r\f\v";
  size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

/// Returns the text of a message; nullopt if it has none.
static std::optional<std::string> textOf(const ordered_json &message) {
  const ordered_json &content = message["content"];
  if (content.is_string())
    return content.get<std::string>();
  if (content.is_array())
    return content[0]["text"].get<std::string>();
  return std::nullopt;
}

/// Removes what the template put after the last message's text, as
/// transformers' apply_chat_template does.
static ApiStatus cutBehind(std::string &prompt, const std::string &last) {
  std::string_view words = trim(last);
  size_t at = prompt.rfind(words);
  if (words.empty() || at == std::string::npos)
    return invalidField("continue_final_message",
                        "'continue_final_message': the last message does not "
                        "appear in the prompt that the chat template makes");
  // White space at the end of the text stays if the template has kept it.
  std::string_view whole = last;
  whole.remove_prefix(static_cast<size_t>(words.data() - last.data()));
  bool kept = std::string_view(prompt).substr(at).starts_with(whole);
  prompt.resize(at + (kept ? whole : words).size());
  return std::nullopt;
}

/// Replaces arguments of calls that are not objects by empty objects, for
/// templates that take only objects. Returns whether there were any.
static bool dropTextArguments(ordered_json &messages) {
  bool hasDropped = false;
  for (ordered_json &message : messages) {
    auto calls = message.find("tool_calls");
    if (calls == message.end())
      continue;
    for (ordered_json &call : *calls)
      if (ordered_json &arguments = call["function"]["arguments"];
          !arguments.is_object()) {
        arguments = ordered_json::object();
        hasDropped = true;
      }
  }
  return hasDropped;
}

static ApiExpected<std::string> render(const text::ChatTemplate &chat,
                                       text::ChatInput &input,
                                       WorkMeter *meter) {
  std::optional<std::string> raised;
  Expected<std::string> prompt = chat.render(input, {.meter = meter}, &raised);
  const bool isOver = meter && meter->end() != WorkMeter::End::None;
  if (!prompt && !isOver && dropTextArguments(input.messages))
    return render(chat, input, meter);
  if (prompt)
    return prompt.take();
  return invalidField("messages", raised ? Status::error(*raised).message()
                                         : prompt.status().message());
}

namespace {

struct DismantledInput {
  text::ChatInput &input;
  ~DismantledInput() {
    for (ordered_json *each : {&input.messages, &input.tools, &input.variables})
      text::JsonTree(std::move(*each));
  }
};

} // namespace

ApiExpected<Prompt> openai::readChatPrompt(const ordered_json &body,
                                           const RequestContext &context,
                                           const ToolRequest &tools,
                                           const Lengths *lengths) {
  const Model &model = context.model;
  ApiExpected<const PromptTemplate *> chat =
      model.chatTemplate(/*withTools=*/!tools.shown.is_null());
  if (!chat)
    return chat.error();
  FieldReader fields(body);
  text::ChatInput input;
  // Destroys the input by way of JsonTree, which does so without allocating.
  const DismantledInput dismantled{input};
  bool continues = false, addSpecial = false;
  fields.flag("continue_final_message", continues);
  input.addGenerationPrompt = !continues;
  fields.flag("add_generation_prompt", input.addGenerationPrompt);
  fields.flag("add_special_tokens", addSpecial);
  if (continues && input.addGenerationPrompt)
    fields.fail("continue_final_message",
                "and 'add_generation_prompt' cannot both be true");
  if (!tools.promptEnd.empty() && !input.addGenerationPrompt)
    fields.fail("add_generation_prompt",
                "must be true where 'tool_choice' forces a call");
  readVariables(fields, **chat, input);
  if (!fields.ok())
    return fields.error();
  ApiExpected<text::JsonTree> messages =
      readMessages(body, **chat, context.limits);
  if (!messages)
    return messages.error();
  input.messages = std::move(messages->root());
  input.tools = std::move(text::JsonTree::copyOf(tools.shown).root());
  ContentMarks marks(model.specialSpellings());
  ordered_json none;
  auto documents = input.variables.find("documents");
  marks.putInto({&input.messages, &input.tools,
                 documents != input.variables.end() ? &*documents : &none});
  std::optional<std::string> last;
  if (continues) {
    if (input.messages.back()["role"] == "assistant")
      last = textOf(input.messages.back());
    if (!last)
      return invalidField("continue_final_message",
                          "'continue_final_message' needs a last message of "
                          "the assistant with text");
  }
  input.bosToken = model.bosToken();
  input.eosToken = model.eosToken();
  input.now = context.now;
  ApiExpected<std::string> text =
      render((*chat)->compiled(), input, context.work);
  if (!text)
    return text.error();
  if (last)
    if (ApiStatus wrong = cutBehind(*text, *last))
      return *wrong;
  const std::vector<size_t> literal = marks.takeOutOf(*text);
  *text += tools.promptEnd;
  if (ApiStatus wrong = lengths ? checkBytes(*text, *lengths, model, "messages")
                                : std::nullopt)
    return *wrong;
  ApiExpected<TokenIds> tokens =
      encodeText(model, *text, addSpecial, "messages", literal);
  if (!tokens)
    return tokens.error();
  return Prompt{tokens.take(), {}};
}
