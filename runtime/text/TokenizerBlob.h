//===- TokenizerBlob.h - serializes a tokenizer ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a tokenizer to the bytes by which an executable holds it, and back.
// They are little-endian, have no pointers, and are read once from front to
// back. Merges are stored as ids, so loading looks nothing up. Every count is
// checked against the bytes that are left.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H
#define SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H

#include "runtime/text/TokenizerSpec.h"

#include <span>

namespace sluice::text {

/// Returns the bytes of `spec`, which must be valid.
std::vector<uint8_t> serializeTokenizer(const TokenizerSpec &spec);

/// Reads the spec in `blob`. Errors: `blob` is no tokenizer, has another
/// version, is truncated or too long, or has a value outside its range.
/// Tokenizer::create() checks the rest.
Expected<TokenizerSpec> parseTokenizer(std::span<const uint8_t> blob);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZERBLOB_H
