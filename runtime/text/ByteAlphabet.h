//===- ByteAlphabet.h - GPT-2's spelling of bytes as characters -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Byte-level vocabularies spell each byte as one printable character: the
// printable bytes of Latin-1 as themselves, the others as U+0100 and up in
// order. So a space is U+0120.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_BYTEALPHABET_H
#define SLUICE_RUNTIME_TEXT_BYTEALPHABET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// Returns the character, in UTF-8, that spells `byte`.
std::string_view byteSpelling(uint8_t byte);

/// Returns `bytes` with each byte spelled as its character.
std::string spellBytes(std::string_view bytes);

/// Returns the byte that `codePoint` spells; nothing if it spells none.
std::optional<uint8_t> spelledByte(uint32_t codePoint);

/// Appends the bytes that valid UTF-8 `text` spells. If a character of it
/// spells no byte, appends `text` itself.
void appendSpelledBytes(std::string &out, std::string_view text);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_BYTEALPHABET_H
