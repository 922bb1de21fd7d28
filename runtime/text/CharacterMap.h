//===- CharacterMap.h - SentencePiece's precompiled normalization ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies SentencePiece's normalization, which a SentencePiece model carries as
// a table: a double array (a trie in one array of 32-bit units) that maps
// sequences of characters to offsets in a pool of NUL-terminated replacements.
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

/// A table of replacements. Immutable and thread-safe.
class CharacterMap {
public:
  /// Reads the table from `bytes`: the array's size in bytes (32 bits,
  /// little-endian), the array, the pool. Errors: `bytes` is truncated, or the
  /// pool is not UTF-8.
  static Expected<CharacterMap> parse(std::string_view bytes);

  /// Returns `text` (valid UTF-8) with its replacements, as Hugging Face makes
  /// them: a grapheme of up to five bytes is looked up as a whole, otherwise,
  /// or if it is not found, each of its characters.
  std::string apply(std::string_view text) const;

private:
  std::optional<std::string_view> lookUp(std::string_view chunk) const;
  void applyToGrapheme(std::string_view grapheme, std::string &out) const;

  std::vector<uint32_t> units;
  std::string pool;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_CHARACTERMAP_H
