//===- Utf8.h - reading and writing UTF-8 ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_UTF8_H
#define SLUICE_RUNTIME_TEXT_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::text {

/// U+FFFD, which replaces bytes that are not UTF-8.
inline constexpr std::string_view replacementCharacter = "\xEF\xBF\xBD";

/// What firstCharacter() has found at the front of some bytes.
struct Utf8Character {
  enum class State : uint8_t {
    Valid,
    Invalid,   ///< replace `length` bytes by one U+FFFD
    Incomplete ///< the bytes end inside a possible character
  };
  uint32_t codePoint = 0;
  uint32_t length = 0;
  State state = State::Valid;
};

/// Reads the character at the front of `bytes`, which must not be empty.
/// Overlong forms, surrogates and values above U+10FFFF are invalid. As Unicode
/// recommends, the longest start of a valid character is replaced as one.
Utf8Character firstCharacter(std::string_view bytes);

/// Returns the code point at `offset` of a valid text, and moves `offset` after
/// it.
inline uint32_t nextCodePoint(std::string_view text, size_t &offset) {
  auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[offset + i]));
  };
  uint32_t lead = byte(0);
  if (lead < 0x80) {
    offset += 1;
    return lead;
  }
  if (lead < 0xE0) {
    uint32_t code = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
    offset += 2;
    return code;
  }
  if (lead < 0xF0) {
    uint32_t code =
        (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    offset += 3;
    return code;
  }
  uint32_t code = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 |
                  (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  offset += 4;
  return code;
}

/// Returns the length in bytes of the character that `lead` starts in valid
/// text.
inline size_t characterLength(char lead) {
  auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

void appendCodePoint(std::string &out, uint32_t codePoint);

bool isValidUtf8(std::string_view bytes);

/// Returns `bytes` with every invalid sequence replaced by U+FFFD.
std::string replaceInvalidUtf8(std::string_view bytes);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_UTF8_H
