//===- TokenBytes.h - the bytes that tokens put into a text ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENBYTES_H
#define SLUICE_RUNTIME_TEXT_TOKENBYTES_H

#include "runtime/text/Tokenizer.h"

#include <string>

namespace sluice::text {

/// The bytes that a token puts into a text behind another one, whole characters
/// or not. Those of a special token are its name. Empty outside of the
/// vocabulary.
std::string tokenBytes(const Tokenizer &tokenizer, TokenId id);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENBYTES_H
