//===- ToolSyntax.h - how models write calls of tools ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How models write calls of tools: each family's chat template teaches one
// form. All are a marker and JSON behind it:
//
//   hermes    <tool_call>{"name": "f", "arguments": {...}}</tool_call> ...
//             (Hermes 2 Pro, Qwen 2.5, Qwen 3)
//   llama     {"name": "f", "parameters": {...}}; ...   as the whole answer,
//             with or without <|python_tag|> in front       (Llama 3.1 to 3.3)
//   mistral   [TOOL_CALLS][{"name": "f", "arguments": {...}}, ...]
//             (Mistral 7B v0.3, Nemo, Small)
//   mistral-args  [TOOL_CALLS]f[ARGS]{...}[TOOL_CALLS]g[ARGS]{...}
//             (Mistral Small 3.2, Magistral, Devstral)
//   granite   <|tool_call|>[{"name": "f", "arguments": {...}}, ...]
//             (Granite 3)
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_TOOLSYNTAX_H
#define SLUICE_RUNTIME_OPENAI_TOOLSYNTAX_H

#include <cstdint>
#include <string_view>

namespace sluice::openai {

struct ToolSyntax {
  enum class Body : uint8_t {
    Object,    ///< one JSON object: a call
    Array,     ///< a JSON array of calls
    Arguments, ///< the name, `nameEnd`, and the arguments as JSON
  };
  std::string_view name;
  /// In front of each body. Often a special token.
  std::string_view open;
  /// Behind each body; empty: nothing.
  std::string_view close;
  Body body = Body::Object;
  std::string_view nameEnd = {};
  /// The member of a call that has its arguments.
  std::string_view argumentsKey = "arguments";
  /// What a prompt ends with where the answer must be a call: the answer is a
  /// body then, without `open` or `close`.
  std::string_view forcedStart = {};
  /// A call may stand without `open` where the answer begins with it.
  bool bareAtStart = false;
  /// Ids of calls are nine letters and digits: the template insists on it.
  bool shortIds = false;
};

/// The form that a template's text teaches, or null: it has no `tools`, or
/// none of the forms above.
const ToolSyntax *toolSyntaxOf(std::string_view templateText);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLSYNTAX_H
