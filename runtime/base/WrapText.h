//===- WrapText.h - text in lines of a given width ------------------------===//
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

/// The columns that help texts keep to.
constexpr size_t helpColumns = 80;

/// `text` in lines of at most `width` columns, broken at blanks and joined by
/// `separator`: a newline and what the next line is indented by. A word that is
/// longer than a line stands on one by itself.
std::string wrapText(std::string_view text, size_t width,
                     std::string_view separator = "\n");

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_WRAPTEXT_H
