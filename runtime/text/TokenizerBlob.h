//===- TokenizerBlob.h - a tokenizer as bytes -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form in which an executable holds its tokenizer: little-endian, no
// pointers, read once from front to back. Merges are ids, so that loading
// looks nothing up. Every count is checked against the bytes that are there.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H
#define SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H

#include "runtime/text/TokenizerSpec.h"

#include <span>

namespace sluice::text {

/// The bytes of `spec`, which must be valid.
std::vector<uint8_t> serializeTokenizer(const TokenizerSpec &spec);

/// The description in `blob`. Errors: not a tokenizer, another version, cut
/// short, bytes left over, or a value outside its range. Tokenizer::create
/// checks the rest.
Expected<TokenizerSpec> parseTokenizer(std::span<const uint8_t> blob);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H
