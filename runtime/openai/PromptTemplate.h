//===- PromptTemplate.h - a chat template and its abilities ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_PROMPTTEMPLATE_H
#define SLUICE_RUNTIME_OPENAI_PROMPTTEMPLATE_H

#include "runtime/jinja/ChatTemplate.h"
#include "runtime/openai/ToolSyntax.h"

#include <string>
#include <string_view>

namespace sluice::openai {

/// A compiled chat template and the facts that requests are checked against:
/// the forms of content that it takes, the names that it uses, and its syntax
/// of tool calls. Immutable and thread-safe.
class PromptTemplate {
public:
  /// Fails as text::ChatTemplate::compile does.
  static Expected<PromptTemplate> create(std::string source);

  const text::ChatTemplate &compiled() const { return chat; }
  /// Returns which forms of content, text or parts, the template shows.
  text::ContentForms contentForms() const { return forms; }
  /// Returns whether the template uses `word` as a name: "tools",
  /// "reasoning_effort".
  bool mentions(std::string_view word) const;
  /// Returns the syntax of the model's tool calls; null if the template knows
  /// no tools or uses a syntax that is not in ToolSyntax.h.
  const ToolSyntax *toolSyntax() const { return tools; }

private:
  PromptTemplate(std::string source, text::ChatTemplate compiled);

  std::string source;
  text::ChatTemplate chat;
  text::ContentForms forms;
  const ToolSyntax *tools;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_PROMPTTEMPLATE_H
