//===- PromptTemplate.h - a chat template and what it can show ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_PROMPTTEMPLATE_H
#define SLUICE_RUNTIME_OPENAI_PROMPTTEMPLATE_H

#include "runtime/openai/ToolSyntax.h"
#include "runtime/text/jinja/ChatTemplate.h"

#include <string>
#include <string_view>

namespace sluice::openai {

/// A compiled chat template, and what requests are checked against: which
/// forms of contents it takes, which names it has, how it shows calls of tools.
/// Immutable and thread-safe.
class PromptTemplate {
public:
  /// Errors: those of text::ChatTemplate::compile.
  static Expected<PromptTemplate> create(std::string source);

  const text::ChatTemplate &compiled() const { return chat; }
  /// What becomes of text and of parts in it.
  text::ContentForms contentForms() const { return forms; }
  /// Whether its text has `word` as a name of its own: "tools",
  /// "reasoning_effort".
  bool mentions(std::string_view word) const;
  /// How the model writes calls of tools; null where the template knows no
  /// tools, or teaches a form that is not in ToolSyntax.h.
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
