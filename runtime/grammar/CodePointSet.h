//===- CodePointSet.h - sets of characters and their UTF-8 ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_CODEPOINTSET_H
#define SLUICE_RUNTIME_GRAMMAR_CODEPOINTSET_H

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::grammar {

/// A set of code points, as sorted ranges that neither touch nor overlap. It
/// never contains surrogates, which UTF-8 cannot spell. Thread-compatible.
class CodePointSet {
public:
  /// A range that includes both ends.
  struct Range {
    uint32_t low;
    uint32_t high;
    bool operator==(const Range &) const = default;
  };

  static constexpr uint32_t last = 0x10FFFF;

  CodePointSet() = default;

  /// Makes the union of `ranges`, which may come in any order. Surrogates,
  /// values above U+10FFFF, and ranges whose ends are in the wrong order are
  /// dropped.
  explicit CodePointSet(std::vector<Range> ranges);

  /// Returns the set of all code points.
  static CodePointSet all();

  /// Returns the code points that are not in this set.
  CodePointSet complement() const;

  CodePointSet intersection(const CodePointSet &other) const;

  bool contains(uint32_t codePoint) const;
  bool empty() const { return sorted.empty(); }
  std::span<const Range> ranges() const { return sorted; }

  bool operator==(const CodePointSet &) const = default;

private:
  std::vector<Range> sorted;
};

/// The range of one byte of a sequence, which includes both ends.
struct ByteRange {
  uint8_t low;
  uint8_t high;
  bool operator==(const ByteRange &) const = default;
};

/// Returns the UTF-8 spellings of a set. Each character of the set matches
/// exactly one of the sequences, byte for byte, and no other text matches any.
std::vector<std::vector<ByteRange>> utf8Sequences(const CodePointSet &set);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_CODEPOINTSET_H
