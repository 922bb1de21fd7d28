//===- CharacterMap.cpp - SentencePiece's precompiled normalization -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/CharacterMap.h"

#include "runtime/text/Utf8.h"

#include <utf8proc.h>

using namespace sluice;
using namespace sluice::text;

namespace {

// A unit of the double array packs a label, the offset of its children, and
// whether one of these is a leaf that holds a value.
bool hasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offsetOf(uint32_t unit) {
  return unit >> 10 << ((unit & 1u << 9) >> 6);
}

uint32_t readUnit(std::string_view bytes, size_t offset) {
  uint32_t unit = 0;
  for (size_t i = 0; i < 4; ++i)
    unit |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[offset + i]))
            << 8 * i;
  return unit;
}

} // namespace

Expected<CharacterMap> CharacterMap::parse(std::string_view bytes) {
  if (bytes.size() < 4)
    return failure("the precompiled character map is cut short");
  size_t arrayBytes = readUnit(bytes, 0);
  if (arrayBytes % 4 != 0 || arrayBytes == 0 || arrayBytes > bytes.size() - 4)
    return failure("the precompiled character map is cut short");
  CharacterMap map;
  map.units.reserve(arrayBytes / 4);
  for (size_t offset = 4; offset < 4 + arrayBytes; offset += 4)
    map.units.push_back(readUnit(bytes, offset));
  map.pool = bytes.substr(4 + arrayBytes);
  if (!isValidUtf8(map.pool))
    return failure("the precompiled character map has replacements that are "
                   "not UTF-8");
  return map;
}

/// Returns the replacement of the shortest prefix of `chunk` that has one.
std::optional<std::string_view>
CharacterMap::lookUp(std::string_view chunk) const {
  size_t node = offsetOf(units[0]);
  for (char c : chunk) {
    auto byte = static_cast<uint8_t>(c);
    node ^= byte;
    if (byte == 0 || node >= units.size() || labelOf(units[node]) != byte)
      return std::nullopt;
    bool leaf = hasLeaf(units[node]);
    node ^= offsetOf(units[node]);
    if (!leaf)
      continue;
    if (node >= units.size())
      return std::nullopt;
    size_t begin = valueOf(units[node]);
    // An offset inside a character would make invalid UTF-8.
    if (begin > pool.size() ||
        (begin < pool.size() &&
         (static_cast<uint8_t>(pool[begin]) & 0xC0) == 0x80))
      return std::nullopt;
    size_t end = pool.find('\0', begin);
    return std::string_view(pool).substr(
        begin, end == std::string::npos ? end : end - begin);
  }
  return std::nullopt;
}

void CharacterMap::applyToGrapheme(std::string_view grapheme,
                                   std::string &out) const {
  if (grapheme.size() < 6) {
    if (std::optional<std::string_view> whole = lookUp(grapheme)) {
      out.append(*whole);
      return;
    }
  }
  while (!grapheme.empty()) {
    std::string_view part = grapheme.substr(0, characterLength(grapheme[0]));
    std::optional<std::string_view> replacement = lookUp(part);
    out.append(replacement ? *replacement : part);
    grapheme.remove_prefix(part.size());
  }
}

std::string CharacterMap::apply(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  utf8proc_int32_t state = 0;
  size_t begin = 0, offset = 0;
  uint32_t previous = 0;
  while (offset < text.size()) {
    size_t here = offset;
    uint32_t code = nextCodePoint(text, offset);
    if (here > 0 && utf8proc_grapheme_break_stateful(
                        static_cast<utf8proc_int32_t>(previous),
                        static_cast<utf8proc_int32_t>(code), &state)) {
      applyToGrapheme(text.substr(begin, here - begin), out);
      begin = here;
    }
    previous = code;
  }
  if (begin < text.size())
    applyToGrapheme(text.substr(begin), out);
  return out;
}
