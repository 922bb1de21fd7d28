//===- CharacterMap.h - SentencePiece's precompiled normalization ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A SentencePiece model carries its normalization as a table: a double array
// (a trie in one array of 32-bit units) from character sequences to offsets in
// a pool of NUL-terminated replacements.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_CHARACTERMAP_H
#define SLUICE_RUNTIME_TEXT_CHARACTERMAP_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Immutable and thread-safe.
class CharacterMap {
public:
  /// The table in `bytes`: the array's size in bytes (32 bits, little-endian),
  /// the array, the pool. Errors: cut short, or a pool that is not UTF-8.
  static Expected<CharacterMap> parse(std::string_view bytes);

  /// `text` (valid UTF-8) rewritten as Hugging Face does it: a grapheme of up
  /// to five bytes is looked up whole, then each of its characters.
  std::string apply(std::string_view text) const;

private:
  std::optional<std::string_view> lookUp(std::string_view chunk) const;
  void applyToGrapheme(std::string_view grapheme, std::string &out) const;

  std::vector<uint32_t> units;
  std::string pool;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_CHARACTERMAP_H
