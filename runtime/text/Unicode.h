//===- Unicode.h - classes of characters ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes that pre-tokenizers and normalizers ask for, as Hugging Face
// defines them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_UNICODE_H
#define SLUICE_RUNTIME_TEXT_UNICODE_H

#include <cstdint>

namespace sluice::text {

/// Unicode's property White_Space.
bool isWhiteSpace(uint32_t codePoint);

/// The categories of numbers: Nd, Nl and No.
bool isNumber(uint32_t codePoint);

/// The categories of punctuation, and all punctuation and symbols of ASCII.
bool isPunctuation(uint32_t codePoint);

/// The categories of marks: Mn, Mc and Me.
bool isMark(uint32_t codePoint);

/// Letters, marks, decimal digits and connectors, as in \w.
bool isWordCharacter(uint32_t codePoint);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_UNICODE_H
