//===- WrapText.h - wrapping of text --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_WRAPTEXT_H
#define SLUICE_RUNTIME_BASE_WRAPTEXT_H

#include <string>
#include <string_view>

namespace sluice {

/// The width of help texts.
constexpr size_t helpColumns = 80;

/// Returns `text` in lines of at most `width` columns, broken at blanks and
/// joined by `separator`: a newline and the next line's indentation. A word
/// that is longer than a line gets a line of its own.
std::string wrapText(std::string_view text, size_t width,
                     std::string_view separator = "\n");

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_WRAPTEXT_H
