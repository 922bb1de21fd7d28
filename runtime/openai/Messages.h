//===- Messages.h - a conversation, checked, for the chat template --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `messages` of a request become what templates are written for:
//
//   - content is text or a list of text parts, whichever the template shows;
//     the texts of parts are put together with a newline between, as in vLLM;
//   - `developer` is `system` where the template knows no such role;
//   - null, of a message that calls tools, is an empty text where the template
//     does not ask for it;
//   - arguments of tool calls, JSON in a string, become the object they are;
//     where they are none they stay text;
//   - members that no template asks about are left out.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_MESSAGES_H
#define SLUICE_RUNTIME_OPENAI_MESSAGES_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"
#include "runtime/openai/PromptTemplate.h"
#include "runtime/text/JsonTree.h"

namespace sluice::openai {

/// The messages as `chat` takes them. Errors name the message: a role there is
/// not, content that is missing or not text, calls of tools that are not whole.
ApiExpected<text::JsonTree> readMessages(const ordered_json &body,
                                         const PromptTemplate &chat,
                                         const RequestLimits &limits);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_MESSAGES_H
