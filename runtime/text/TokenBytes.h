//===- TokenBytes.h - the bytes that a token adds to a text ---------------===//
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

/// Returns the bytes that a token adds to a text after another token; they may
/// end inside a character. For a special token these are its name. Empty for an
/// id outside the vocabulary.
std::string tokenBytes(const Tokenizer &tokenizer, TokenId id);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENBYTES_H
