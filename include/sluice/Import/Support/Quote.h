//===- Quote.h - safe printing of names from files ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_SUPPORT_QUOTE_H
#define SLUICE_IMPORT_SUPPORT_QUOTE_H

#include <string>
#include <string_view>

namespace sluice {

/// Returns `text` in single quotes for a one-line message. Control characters
/// and bytes outside ASCII become \xNN, and text longer than 80 characters is
/// cut with "...". So names from a hostile file cannot forge lines of output or
/// control a terminal.
std::string quote(std::string_view text);

} // namespace sluice

#endif // SLUICE_IMPORT_SUPPORT_QUOTE_H
