//===- TurnEnd.h - the token that ends an assistant's turn ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the token that ends an assistant's turn. Model files often name one
// token that ends a text, such as the end of a document, but none that ends an
// answer. That token stands only in the chat template (<|im_end|>, <|eot_id|>,
// <end_of_turn>, ...). A model that was trained on such chats writes it and
// goes on with the user's next turn, unless it is stopped. Names do not
// identify the token, since templates use the same names for different
// purposes; what the template writes after an answer does.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_TURNEND_H
#define SLUICE_RUNTIME_JINJA_TURNEND_H

#include "runtime/jinja/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <optional>

namespace sluice::text {

/// Returns the added token (special or not) that the template writes directly
/// after the text of the conversation's last message, an assistant's; if there
/// is none, the one that it writes between that message and a user's next one.
/// Returns nothing if the template writes text there, or does not render such a
/// conversation. Takes a rendering or two.
std::optional<TokenId> findTurnEnd(const ChatTemplate &chat,
                                   const Tokenizer &tokenizer);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_JINJA_TURNEND_H
