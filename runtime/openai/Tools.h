//===- Tools.h - tools of a request, and grammars for their calls ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_TOOLS_H
#define SLUICE_RUNTIME_OPENAI_TOOLS_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/Constraint.h"
#include "runtime/openai/FieldReader.h"

namespace sluice::openai {

/// `tools`, `tool_choice` and `parallel_tool_calls`, checked.
struct ToolRequest {
  ToolUse use;
  /// What the template gets; null: no tools, as with tool_choice none.
  ordered_json shown;
  std::vector<size_t> strict; ///< indices of those that say so
  /// Where a call is forced: what the prompt ends with, and what the answer
  /// must be.
  std::string promptEnd;
  GrammarSource grammar;
};

/// A call that the request wants is forced in this way: the prompt ends with
/// what the syntax has in front of a call, and a JSON schema, with those of the
/// functions' parameters in it, describes what follows. Where a body is one
/// object there is one call, else any number unless parallel_tool_calls is
/// false. What is forced always keeps to the schema, `strict` or not. With
/// tool_choice auto nothing is forced; where a function says `strict`, its
/// schema must be one that could be.
///
/// Errors: definitions that are not whole, a model whose template knows no
/// tools, a function that there is not, a schema that does not compile, or not
/// within the budget.
ApiExpected<ToolRequest> readTools(const ordered_json &body,
                                   const RequestContext &context,
                                   GrammarBudget &budget);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLS_H
