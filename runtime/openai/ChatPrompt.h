//===- ChatPrompt.h - the prompt of a conversation ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_CHATPROMPT_H
#define SLUICE_RUNTIME_OPENAI_CHATPROMPT_H

#include "runtime/openai/Prompts.h"
#include "runtime/openai/Tools.h"

namespace sluice::openai {

/// Renders `messages` with the model's template and tokenizes the result.
/// Templates write special tokens themselves, so none are added unless the
/// request has add_special_tokens, and spellings in the template become special
/// tokens. In messages, tools and documents they stay text, unless the model's
/// options say otherwise. Also reads add_generation_prompt,
/// continue_final_message, chat_template_kwargs, reasoning_effort and
/// documents; the last two only serve templates and are refused if the template
/// does not mention them. Fails if there is no template, the template refuses
/// the conversation, or the text is far too long for `lengths` (if not null).
ApiExpected<Prompt> readChatPrompt(const ordered_json &body,
                                   const RequestContext &context,
                                   const ToolRequest &tools,
                                   const Lengths *lengths);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CHATPROMPT_H
