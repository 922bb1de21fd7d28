//===- CompletionRequest.cpp - requests to /v1/completions ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Constraint.h"
#include "runtime/openai/JsonBody.h"
#include "runtime/openai/Prompts.h"

using namespace sluice;
using namespace sluice::openai;

/// The default of OpenAI's API.
static constexpr int64_t defaultMaxTokens = 16;

ApiExpected<GenerationRequest>
openai::parseCompletionRequest(std::string_view body,
                               const RequestContext &context) {
  ApiExpected<text::JsonTree> tree = parseBody(body, context.limits);
  if (!tree)
    return tree.error();
  const ordered_json &json = tree->root();
  GenerationRequest request;
  request.endpoint = Endpoint::Completions;
  ApiExpected<CommonFields> common = readCommonFields(json, context, request);
  if (!common)
    return common.error();

  FieldReader fields(json);
  Lengths lengths;
  lengths.defaultMaxTokens = defaultMaxTokens;
  fields.integer("max_tokens", lengths.maxTokens, 0, INT32_MAX);
  readTruncation(fields, lengths);
  fields.integer("logprobs", request.logprobs, 0, context.limits.logprobs);
  bool echo = false, addSpecial = true;
  fields.flag("echo", echo);
  fields.flag("add_special_tokens", addSpecial);
  std::optional<int64_t> bestOf;
  fields.integer("best_of", bestOf, 1, context.limits.choices);
  if (bestOf && *bestOf != request.choices)
    fields.fail("best_of", "is not supported where it is not 'n'");
  if (!fields.ok())
    return fields.error();

  GrammarBudget budget(context.limits, context.work, context.grammarScope);
  ApiExpected<GrammarSource> grammar =
      readConstraint(json, context.limits, budget);
  if (!grammar)
    return grammar.error();
  common->spec.grammar = grammar.take();
  if (common->spec.grammar.kind != GrammarSource::Kind::None &&
      !context.model.hasTokenizer())
    return invalidField("prompt", "this model has no tokenizer, so that its "
                                  "answers cannot be held to a form");
  if (common->ignoreEnd &&
      common->spec.grammar.kind != GrammarSource::Kind::None)
    return invalidField("ignore_eos", "'ignore_eos' is not supported where "
                                      "the answer has a form to keep to");

  ApiExpected<std::vector<Prompt>> prompts =
      readPrompts(json, "prompt", context, lengths, addSpecial, echo);
  if (!prompts)
    return prompts.error();
  if (echo)
    for (Prompt &prompt : *prompts)
      request.echo.push_back(std::move(prompt.text));
  ApiStatus added =
      addRequests(prompts.take(), *common, lengths, context, request);
  if (added)
    return *added;
  return request;
}
