//===- CodePointSet.h - sets of characters, and their UTF-8 ---------------===//
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

/// Code points as sorted ranges that neither touch nor overlap. Surrogates,
/// which UTF-8 cannot spell, are never in it. Thread-compatible.
class CodePointSet {
public:
  /// Both ends are in the range.
  struct Range {
    uint32_t low;
    uint32_t high;
    bool operator==(const Range &) const = default;
  };

  static constexpr uint32_t last = 0x10FFFF;

  CodePointSet() = default;

  /// The union of `ranges`, which may come in any order; what is past U+10FFFF
  /// or a surrogate is left out, as are ranges whose ends are the wrong way
  /// round.
  explicit CodePointSet(std::vector<Range> ranges);

  /// Every code point.
  static CodePointSet all();

  /// What all() has and this has not.
  CodePointSet complement() const;

  CodePointSet intersection(const CodePointSet &other) const;

  bool contains(uint32_t codePoint) const;
  bool empty() const { return sorted.empty(); }
  std::span<const Range> ranges() const { return sorted; }

  bool operator==(const CodePointSet &) const = default;

private:
  std::vector<Range> sorted;
};

/// A byte of a sequence lies in this range, both ends included.
struct ByteRange {
  uint8_t low;
  uint8_t high;
  bool operator==(const ByteRange &) const = default;
};

/// The UTF-8 spellings of a set: a text of one character of the set matches
/// exactly one of the sequences, byte for byte, and nothing else matches any.
std::vector<std::vector<ByteRange>> utf8Sequences(const CodePointSet &set);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_CODEPOINTSET_H
