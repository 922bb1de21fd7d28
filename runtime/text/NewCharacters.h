//===- NewCharacters.h - characters newer than the libraries' tables ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's classes of characters are those of Unicode 16. The tables of
// PCRE2 and utf8proc may be of Unicode 14, in which the newer characters have
// no class. For matching, each is replaced by an old one of the same class and
// length, so that places in the text stay as they are.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H
#define SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// A character of the same class that Unicode 14 has; most are their own.
uint32_t standIn(uint32_t codePoint);

/// `text` (valid UTF-8) with its newer characters replaced; nothing where it
/// has none. Both are equally long.
std::optional<std::string> replaceNewCharacters(std::string_view text);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H
