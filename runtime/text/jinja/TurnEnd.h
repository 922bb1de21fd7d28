//===- TurnEnd.h - the token that ends an assistant's turn ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of models often name one token that ends a text, such as the end of a
// document, and none that ends an answer: that one stands in the chat template
// alone (<|im_end|>, <|eot_id|>, <end_of_turn>, ...). A model that was trained
// on such chats writes it and goes on with the user's next turn, unless it is
// stopped. Names do not tell, since templates use the same ones for different
// things; what the template writes behind an answer does.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_TURNEND_H
#define SLUICE_RUNTIME_TEXT_JINJA_TURNEND_H

#include "runtime/text/Tokenizer.h"
#include "runtime/text/jinja/ChatTemplate.h"

#include <optional>

namespace sluice::text {

/// The special token, or other added one, that the template writes behind the
/// text of an assistant's last message; where it writes none there, the one
/// that it writes between that message and the user's next one. Nothing: it
/// writes text there, or renders no such conversation. Takes a rendering or
/// two.
std::optional<TokenId> findTurnEnd(const ChatTemplate &chat,
                                   const Tokenizer &tokenizer);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJA_TURNEND_H
