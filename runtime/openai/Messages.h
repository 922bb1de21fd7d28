//===- Messages.h - the messages of a conversation, checked ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the `messages` of a request into the form that chat templates expect:
//
//   - content is text or a list of text parts, whichever the template shows;
//     texts of parts are joined with a newline, as in vLLM;
//   - `developer` becomes `system` if the template does not know the role;
//   - null content, of a message that calls tools, becomes empty text if the
//     template does not ask for null;
//   - arguments of tool calls, JSON in a string, become an object; if they are
//     not JSON, they stay text;
//   - members that no template uses are left out.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_MESSAGES_H
#define SLUICE_RUNTIME_OPENAI_MESSAGES_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"
#include "runtime/openai/PromptTemplate.h"
#include "runtime/text/JsonTree.h"

namespace sluice::openai {

/// Returns the messages for the template `chat`. Fails, naming the message, for
/// an unknown role, for content that is missing or not text, and for an
/// incomplete tool call.
ApiExpected<text::JsonTree> readMessages(const ordered_json &body,
                                         const PromptTemplate &chat,
                                         const RequestLimits &limits);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_MESSAGES_H
