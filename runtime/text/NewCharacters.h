//===- NewCharacters.h - replaces characters newer than Unicode 14 --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face classifies characters by Unicode 16. The tables of PCRE2 and
// utf8proc may be of Unicode 14, where newer characters have no class. Before
// matching, each newer character is replaced by an old one of the same class
// and length, so that offsets in the text stay the same.
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H
#define SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// Returns a character of the same class that Unicode 14 has; for most
/// characters, the character itself.
uint32_t standIn(uint32_t codePoint);

/// Returns `text` (valid UTF-8) with its newer characters replaced; nothing if
/// it has none. Both are equally long.
std::optional<std::string> replaceNewCharacters(std::string_view text);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_NEWCHARACTERS_H
