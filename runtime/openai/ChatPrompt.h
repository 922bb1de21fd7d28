//===- ChatPrompt.h - from a conversation to tokens -----------------------===//
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

/// Renders `messages` with the model's template and makes tokens of the text.
/// Templates write the special tokens themselves, so that none are added but
/// with add_special_tokens, and what they spell is taken as such; what
/// messages, tools and documents spell is text, unless the model says
/// otherwise. Also reads add_generation_prompt, continue_final_message,
/// chat_template_kwargs, and reasoning_effort and documents, which are for the
/// template alone and refused where it does not mention them. Errors: no
/// template, a conversation that it refuses, a text that is far too long for
/// `lengths`, if not null.
ApiExpected<Prompt> readChatPrompt(const ordered_json &body,
                                   const RequestContext &context,
                                   const ToolRequest &tools,
                                   const Lengths *lengths);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CHATPROMPT_H
