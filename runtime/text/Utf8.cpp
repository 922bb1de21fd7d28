//===- Utf8.cpp - reading and writing UTF-8 -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Utf8.h"

using namespace sluice::text;

Utf8Character sluice::text::firstCharacter(std::string_view bytes) {
  using State = Utf8Character::State;
  auto lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80)
    return {lead, 1, State::Valid};
  uint32_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                    : lead >= 0xE0 && lead <= 0xEF ? 3
                    : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                   : 0;
  if (length == 0)
    return {0, 1, State::Invalid};
  // The second byte alone decides whether a form is overlong, a surrogate, or a
  // value above U+10FFFF.
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  uint32_t codePoint = lead & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if (i == bytes.size())
      return {0, i, State::Incomplete};
    auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < low || byte > high)
      return {0, i, State::Invalid};
    codePoint = codePoint << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {codePoint, length, State::Valid};
}

void sluice::text::appendCodePoint(std::string &out, uint32_t codePoint) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (codePoint < 0x80) {
    put(codePoint);
  } else if (codePoint < 0x800) {
    put(0xC0 | codePoint >> 6);
    put(0x80 | (codePoint & 0x3F));
  } else if (codePoint < 0x10000) {
    put(0xE0 | codePoint >> 12);
    put(0x80 | (codePoint >> 6 & 0x3F));
    put(0x80 | (codePoint & 0x3F));
  } else {
    put(0xF0 | codePoint >> 18);
    put(0x80 | (codePoint >> 12 & 0x3F));
    put(0x80 | (codePoint >> 6 & 0x3F));
    put(0x80 | (codePoint & 0x3F));
  }
}

bool sluice::text::isValidUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    if (static_cast<uint8_t>(bytes[0]) < 0x80) {
      bytes.remove_prefix(1);
      continue;
    }
    Utf8Character character = firstCharacter(bytes);
    if (character.state != Utf8Character::State::Valid)
      return false;
    bytes.remove_prefix(character.length);
  }
  return true;
}

std::string sluice::text::replaceInvalidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Character character = firstCharacter(bytes);
    if (character.state == Utf8Character::State::Valid)
      out.append(bytes.substr(0, character.length));
    else
      out.append(replacementCharacter);
    bytes.remove_prefix(character.length);
  }
  return out;
}
