//===- Tools.h - a request's tools, and grammars for calls ----------------===//
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

/// The checked `tools`, `tool_choice` and `parallel_tool_calls`.
struct ToolRequest {
  ToolUse use;
  /// What the template gets; null: no tools, as with tool_choice none.
  ordered_json shown;
  std::vector<size_t> strict; ///< indices of functions with `strict`
  /// If a call is forced: the end of the prompt, and the grammar of the answer.
  std::string promptEnd;
  GrammarSource grammar;
};

/// Reads the tools of a request. If tool_choice forces a call, the prompt ends
/// with the text that the syntax has in front of a call, and a JSON schema,
/// which contains the schemas of the functions' parameters, describes the rest.
/// If a body is one object, there is one call; else there may be several,
/// unless parallel_tool_calls is false. A forced call always keeps to the
/// schema, `strict` or not. With tool_choice auto nothing is forced, but the
/// schema of a `strict` function must be one that could be.
///
/// Fails if a definition is incomplete, the model's template knows no tools,
/// the chosen function does not exist, or a schema does not compile within the
/// budget.
ApiExpected<ToolRequest> readTools(const ordered_json &body,
                                   const RequestContext &context,
                                   GrammarBudget &budget);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLS_H
