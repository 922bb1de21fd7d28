//===- Unicode.h - character classes --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The character classes that pre-tokenizers and normalizers use, as Hugging
// Face defines them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_UNICODE_H
#define SLUICE_RUNTIME_TEXT_UNICODE_H

#include <cstdint>

namespace sluice::text {

/// Returns whether a character has Unicode's property White_Space.
bool isWhiteSpace(uint32_t codePoint);

/// Returns whether the category is one of numbers: Nd, Nl or No.
bool isNumber(uint32_t codePoint);

/// Returns whether the category is one of punctuation, or the character is
/// ASCII punctuation or an ASCII symbol.
bool isPunctuation(uint32_t codePoint);

/// Returns whether the category is one of marks: Mn, Mc or Me.
bool isMark(uint32_t codePoint);

/// Returns whether \w matches: a letter, mark, decimal digit or connector.
bool isWordCharacter(uint32_t codePoint);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_UNICODE_H
