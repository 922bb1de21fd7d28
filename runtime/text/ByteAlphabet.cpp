//===- ByteAlphabet.cpp - GPT-2's spelling of bytes as characters ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/ByteAlphabet.h"

#include "runtime/text/Utf8.h"

#include <array>

using namespace sluice::text;

namespace {

bool isPrintable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<int16_t, 0x144> byteOf; // -1 if the character spells no byte

  Alphabet() {
    byteOf.fill(-1);
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t codePoint = isPrintable(byte) ? byte : next++;
      appendCodePoint(spelling[byte], codePoint);
      byteOf[codePoint] = static_cast<int16_t>(byte);
    }
  }
};

const Alphabet &alphabet() {
  static const Alphabet only;
  return only;
}

} // namespace

std::string_view sluice::text::byteSpelling(uint8_t byte) {
  return alphabet().spelling[byte];
}

std::string sluice::text::spellBytes(std::string_view bytes) {
  const Alphabet &letters = alphabet();
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char byte : bytes)
    out += letters.spelling[static_cast<uint8_t>(byte)];
  return out;
}

std::optional<uint8_t> sluice::text::spelledByte(uint32_t codePoint) {
  const Alphabet &letters = alphabet();
  if (codePoint >= letters.byteOf.size() || letters.byteOf[codePoint] < 0)
    return std::nullopt;
  return static_cast<uint8_t>(letters.byteOf[codePoint]);
}

void sluice::text::appendSpelledBytes(std::string &out, std::string_view text) {
  size_t before = out.size();
  for (size_t offset = 0; offset < text.size();) {
    std::optional<uint8_t> byte = spelledByte(nextCodePoint(text, offset));
    if (!byte) {
      out.resize(before);
      out.append(text);
      return;
    }
    out.push_back(static_cast<char>(*byte));
  }
}
