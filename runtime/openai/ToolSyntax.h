//===- ToolSyntax.h - the syntaxes of tool calls --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ways in which models write tool calls. The chat template of each family
// of models teaches one of them. Each is a marker followed by JSON:
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
    Object,    ///< one JSON object, which is one call
    Array,     ///< a JSON array of calls
    Arguments, ///< the name, `nameEnd`, and the arguments as JSON
  };
  std::string_view name;
  /// In front of each body; often a special token.
  std::string_view open;
  /// Behind each body; may be empty.
  std::string_view close;
  Body body = Body::Object;
  std::string_view nameEnd = {};
  /// The member of a call that has its arguments.
  std::string_view argumentsKey = "arguments";
  /// The end of the prompt if the answer must be a call. The answer is then a
  /// body without `open` and `close`.
  std::string_view forcedStart = {};
  /// Whether an answer may begin with a call without `open`.
  bool bareAtStart = false;
  /// Whether ids of calls are nine letters and digits, as the template
  /// requires.
  bool shortIds = false;
};

/// Returns the syntax that a template's text teaches; null if the text has no
/// `tools` or none of the syntaxes above.
const ToolSyntax *toolSyntaxOf(std::string_view templateText);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLSYNTAX_H
