//===- ChatRequest.cpp - requests to /v1/chat/completions -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ChatPrompt.h"
#include "runtime/openai/Constraint.h"
#include "runtime/openai/JsonBody.h"

using namespace sluice;
using namespace sluice::openai;

using Kind = GrammarSource::Kind;

static Lengths readLengths(FieldReader &fields, const Model &model) {
  Lengths lengths;
  fields.integer("max_tokens", lengths.maxTokens, 1, INT32_MAX);
  // If both are present, the newer name counts.
  if (fields.find("max_completion_tokens")) {
    lengths.maxTokensName = "max_completion_tokens";
    fields.integer("max_completion_tokens", lengths.maxTokens, 1, INT32_MAX);
  }
  readTruncation(fields, lengths);
  return lengths;
}

static void readLogprobs(FieldReader &fields, const RequestLimits &limits,
                         int64_t &logprobs) {
  bool wanted = false;
  fields.flag("logprobs", wanted);
  int64_t top = 0;
  fields.integer("top_logprobs", top, 0, limits.logprobs);
  if (top > 0 && !wanted)
    fields.fail("top_logprobs", "needs 'logprobs' to be true");
  logprobs = wanted ? top : -1;
}

/// Returns the required form of the answer: the tool calls that the request
/// forces, or the form that it wants for the text.
static ApiExpected<GrammarSource> formOf(const ordered_json &body,
                                         const RequestLimits &limits,
                                         ToolRequest &tools,
                                         GrammarBudget &budget) {
  ApiExpected<GrammarSource> text = readConstraint(body, limits, budget);
  if (!text)
    return text;
  if (tools.use.isForced())
    return tools.grammar; // a forced call leaves no text to constrain
  if (text->kind != Kind::None && tools.use.choice == ToolUse::Choice::Auto)
    return invalidField("tool_choice",
                        "'tool_choice' auto is not supported where the answer "
                        "has a form to keep to, which calls of tools have not; "
                        "set it to none or required");
  return text;
}

ApiExpected<GenerationRequest>
openai::parseChatRequest(std::string_view body, const RequestContext &context) {
  ApiExpected<text::JsonTree> tree = parseBody(body, context.limits);
  if (!tree)
    return tree.error();
  const ordered_json &json = tree->root();
  GenerationRequest request;
  request.endpoint = Endpoint::Chat;
  ApiExpected<CommonFields> common = readCommonFields(json, context, request);
  if (!common)
    return common.error();
  FieldReader fields(json);
  Lengths lengths = readLengths(fields, context.model);
  readLogprobs(fields, context.limits, request.logprobs);
  if (!fields.ok())
    return fields.error();
  GrammarBudget budget(context.limits, context.work, context.grammarScope);
  ApiExpected<ToolRequest> tools = readTools(json, context, budget);
  if (!tools)
    return tools.error();
  ApiExpected<GrammarSource> form =
      formOf(json, context.limits, *tools, budget);
  if (!form)
    return form.error();
  common->spec.grammar = form.take();
  if (common->ignoreEnd && common->spec.grammar.kind != Kind::None)
    return invalidField("ignore_eos", "'ignore_eos' is not supported where "
                                      "the answer has a form to keep to");
  ApiExpected<Prompt> prompt = readChatPrompt(json, context, *tools, &lengths);
  if (!prompt)
    return prompt.error();
  request.tools = std::move(tools->use);
  std::vector<Prompt> prompts;
  prompts.push_back(prompt.take());
  ApiStatus added =
      addRequests(std::move(prompts), *common, lengths, context, request);
  if (added)
    return *added;
  return request;
}
