//===- Quote.h - names from files, safe to print --------------------------===//
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

/// `text` in single quotes for a one-line message: control characters and bytes
/// outside ASCII become \xNN, and what goes on for more than 80 characters is
/// cut with "...". A hostile file's names can't forge lines or drive a
/// terminal.
std::string quote(std::string_view text);

} // namespace sluice

#endif // SLUICE_IMPORT_SUPPORT_QUOTE_H
