//===- Tools.cpp - a request's tools, and grammars for calls --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Tools.h"

#include "runtime/openai/JsonBody.h"

#include <algorithm>
#include <array>

using namespace sluice;
using namespace sluice::openai;

using Choice = ToolUse::Choice;

/// The limit of OpenAI's API.
static constexpr size_t maxNameBytes = 64;

static bool isFunctionName(std::string_view name) {
  return !name.empty() && name.size() <= maxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

/// Reads one definition into `out.use` and `out.shown`.
static ApiStatus readTool(const ordered_json &tool, const std::string &path,
                          ToolRequest &out) {
  if (ApiStatus wrong = checkObject(tool, path))
    return wrong;
  FieldReader fields(tool, path);
  std::string type;
  fields.text("type", type);
  if (fields.ok() && type != "function")
    fields.fail("type", "is '", type.substr(0, 40),
                "'; only functions are supported");
  const ordered_json *function = fields.members("function");
  if (!function && fields.ok())
    fields.fail("function", "is missing");
  if (!fields.ok())
    return fields.error();
  FieldReader inner(*function, fields.pathOf("function"));
  std::string name, description;
  bool strict = false;
  inner.text("name", name);
  inner.text("description", description);
  inner.flag("strict", strict);
  inner.members("parameters");
  if (inner.ok() && !isFunctionName(name))
    inner.fail("name", "is '", name.substr(0, 80), "', not 1 to ", maxNameBytes,
               " letters, digits, _ and -");
  const std::vector<std::string> &names = out.use.names;
  if (std::find(names.begin(), names.end(), name) != names.end())
    inner.fail("name", "is '", name, "', as another function's");
  if (!inner.ok())
    return inner.error();
  // A copy, so that the prompt shows members in the request's order.
  text::JsonTree shown = text::JsonTree::copyOf(*function);
  shown.root().erase("strict");
  if (strict)
    out.strict.push_back(out.use.names.size());
  out.use.names.push_back(std::move(name));
  text::JsonTree entry(ordered_json::object());
  entry.root()["type"] = "function";
  entry.root()["function"] = std::move(shown.root());
  out.shown.push_back(std::move(entry.root()));
  return std::nullopt;
}

/// Reads `tool_choice`, if present; `named` becomes the function that it names.
static void readChoice(FieldReader &fields, ToolUse &use, std::string &named) {
  const ordered_json *choice = fields.find("tool_choice");
  if (!choice)
    return;
  if (choice->is_string()) {
    auto text = choice->get<std::string>();
    if (text == "none")
      use.choice = Choice::None;
    else if (text == "required")
      use.choice = Choice::Required;
    else if (text != "auto")
      fields.fail("tool_choice", "is '", text.substr(0, 40),
                  "', not none, auto, required or a function");
    return;
  }
  if (!choice->is_object())
    return fields.fail("tool_choice", "is ", typeName(*choice),
                       ", not a string or an object");
  FieldReader inner(*choice, "tool_choice");
  std::string type = "function";
  inner.text("type", type);
  if (inner.ok() && type != "function")
    inner.fail("type", "is '", type.substr(0, 40),
               "'; only a function can be named");
  const ordered_json *function = inner.members("function");
  if (!function && inner.ok())
    inner.fail("function", "is missing");
  if (function) {
    FieldReader name(*function, "tool_choice.function");
    name.text("name", named);
    if (name.ok() && named.empty())
      name.fail("name", "is missing");
    inner.keep(name.status());
  }
  fields.keep(inner.status());
  use.choice = Choice::Named;
}

static ordered_json parametersOf(const ordered_json &tool) {
  const ordered_json &function = tool["function"];
  auto found = function.find("parameters");
  if (found == function.end() || found->is_null() || found->empty())
    return {{"type", "object"}, {"properties", ordered_json::object()}};
  return *found;
}

/// Returns the schema of {"name": "f", "arguments": {...}}.
static ordered_json callSchema(const ToolSyntax &syntax,
                               const std::string &name,
                               ordered_json arguments) {
  ordered_json properties;
  properties["name"] = {{"const", name}};
  properties[std::string(syntax.argumentsKey)] = std::move(arguments);
  ordered_json required =
      ordered_json::array({"name", std::string(syntax.argumentsKey)});
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// Returns the schema of a forced answer: calls of the wanted functions in
/// `shown`.
static ordered_json callsSchema(const ToolRequest &request,
                                const std::vector<size_t> &wanted,
                                bool asArray) {
  const ToolSyntax &syntax = *request.use.syntax;
  ordered_json definitions = ordered_json::object();
  ordered_json calls = ordered_json::array();
  for (size_t tool : wanted) {
    std::string place = "f" + std::to_string(tool);
    ordered_json parameters = parametersOf(request.shown[tool]);
    parameters["$id"] = place; // so that its references stay within it
    definitions[place] = std::move(parameters);
    calls.push_back(callSchema(syntax, request.use.names[tool],
                               {{"$ref", "#/$defs/" + place}}));
  }
  ordered_json call =
      calls.size() == 1 ? std::move(calls[0]) : ordered_json{{"anyOf", calls}};
  if (asArray) {
    call = {{"type", "array"}, {"items", std::move(call)}, {"minItems", 1}};
    if (!request.use.parallel || request.use.choice == Choice::Named)
      call["maxItems"] = 1;
  }
  call["$defs"] = std::move(definitions);
  return call;
}

/// Checks the schemas one by one, so that the error names the wrong one, and so
/// that schemas that could each be forced need not fit into one grammar.
static ApiStatus checkTools(const ToolRequest &request,
                            const std::vector<size_t> &tools,
                            GrammarBudget &budget) {
  for (size_t tool : tools)
    if (ApiStatus wrong = checkSchema(
            dumpJson(parametersOf(request.shown[tool])),
            "tools[" + std::to_string(tool) + "].function.parameters", budget))
      return wrong;
  return std::nullopt;
}

/// Sets what forces a call of one of the wanted functions.
static ApiStatus force(ToolRequest &request, const std::vector<size_t> &wanted,
                       GrammarBudget &budget) {
  const ToolSyntax &syntax = *request.use.syntax;
  ordered_json schema;
  request.promptEnd = syntax.forcedStart;
  if (syntax.body == ToolSyntax::Body::Arguments && wanted.size() == 1) {
    const std::string &name = request.use.names[wanted[0]];
    request.promptEnd += name;
    request.promptEnd += syntax.nameEnd;
    request.use.nameInPrompt = name;
    schema = parametersOf(request.shown[wanted[0]]);
  } else {
    // For several functions, the names are part of the JSON, because a schema
    // can describe only that. The parser accepts this in any syntax.
    schema =
        callsSchema(request, wanted, syntax.body != ToolSyntax::Body::Object);
  }
  const size_t before = budget.taken();
  std::string text = dumpJson(schema);
  if (ApiStatus wrong = checkSchema(text, "tools", budget)) {
    // Checks one by one, with the rest of the budget, to name the wrong one.
    budget.rewind(before);
    ApiStatus which = checkTools(request, wanted, budget);
    return which && budget.work().status().ok() ? which : wrong;
  }
  request.grammar = {GrammarSource::Kind::JsonSchema, std::move(text)};
  request.grammar.scope = budget.scope;
  return std::nullopt;
}

/// Returns the functions that a forced call may call.
static ApiExpected<std::vector<size_t>> wantedTools(const ToolUse &use,
                                                    const std::string &named) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < use.names.size(); ++i)
    if (use.choice == Choice::Required || use.names[i] == named)
      wanted.push_back(i);
  if (wanted.empty())
    return invalidField("tool_choice", "'tool_choice' names the function '" +
                                           named.substr(0, 80) +
                                           "', which is not in 'tools'");
  return wanted;
}

/// Reads `tools` and checks that the model can use them.
static ApiStatus readDefinitions(FieldReader &fields,
                                 const RequestContext &context,
                                 ToolRequest &request) {
  const ordered_json *tools = fields.array("tools");
  if (!fields.ok())
    return fields.error();
  if (!tools || tools->empty())
    return std::nullopt;
  if (std::ssize(*tools) > context.limits.tools) {
    fields.fail("tools", "has ", tools->size(), " tools, more than ",
                context.limits.tools);
    return fields.error();
  }
  request.shown = ordered_json::array();
  request.use.choice = Choice::Auto;
  for (size_t i = 0; i < tools->size(); ++i)
    if (ApiStatus wrong =
            readTool((*tools)[i], "tools[" + std::to_string(i) + "]", request))
      return wrong;
  return std::nullopt;
}

ApiExpected<ToolRequest> openai::readTools(const ordered_json &body,
                                           const RequestContext &context,
                                           GrammarBudget &budget) {
  ToolRequest request;
  FieldReader fields(body);
  if (ApiStatus wrong = readDefinitions(fields, context, request))
    return *wrong;
  bool hasTools = request.use.choice == Choice::Auto;
  std::string named;
  readChoice(fields, request.use, named);
  fields.flag("parallel_tool_calls", request.use.parallel);
  if (fields.ok() && !hasTools && request.use.isForced())
    fields.fail("tool_choice", "asks for a call, but there are no 'tools'");
  if (!fields.ok())
    return fields.error();
  if (!hasTools || request.use.choice == Choice::None) {
    request.use = {};
    request.shown = nullptr;
    return request;
  }
  ApiExpected<const PromptTemplate *> chat =
      context.model.chatTemplate(/*withTools=*/true);
  if (!chat)
    return chat.error();
  request.use.syntax = (*chat)->toolSyntax();
  if (!request.use.syntax)
    return invalidField(
        "tools", (*chat)->mentions("tools")
                     ? "'tools': the form in which this model calls tools is "
                       "not supported"
                     : "'tools': this model's chat template knows no tools");
  if (request.use.isForced()) {
    ApiExpected<std::vector<size_t>> wanted = wantedTools(request.use, named);
    if (!wanted)
      return wanted.error();
    if (ApiStatus wrong = force(request, *wanted, budget))
      return *wrong;
    return request;
  }
  if (ApiStatus wrong = checkTools(request, request.strict, budget))
    return *wrong;
  return request;
}
