//===- HeadSplit.h - the features of each member of a group ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes which features of a row each member of a tensor-parallel group has.
// These are plain numbers, which the pass --sluice-shard-tensors applies to ops
// and weights.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H
#define SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace sluice {

/// The ranges of features of each member: ranges[member] holds the begin and
/// end of each range in turn. All members have the same number of features.
struct FeatureSplit {
  llvm::SmallVector<llvm::SmallVector<int64_t>> ranges;

  /// Returns the number of features of each member.
  int64_t width() const;
  bool operator==(const FeatureSplit &) const = default;
};

/// Splits `width` features into equal parts, one for each member. Returns
/// nullopt if `width` does not divide by `members`.
std::optional<FeatureSplit> splitEvenly(int64_t width, int64_t members);

/// Like splitEvenly(), but for features that several members may compute: if
/// `width` does not divide by `members`, the parts of the last members overlap.
/// Returns nullopt if a member would have no feature of its own.
std::optional<FeatureSplit> splitWithOverlap(int64_t width, int64_t members);

/// The numbers of heads of an attention.
struct HeadCounts {
  int64_t heads = 0;
  int64_t kvHeads = 0; ///< divides heads
  int64_t headDim = 0;
};

/// The heads of each member: an equal part of the query heads, and the key
/// heads that these read. If there are fewer key heads than members, several
/// members keep the same key head.
struct HeadSplit {
  HeadCounts counts; ///< of all members
  int64_t members = 1;

  /// Returns nullopt if the query heads do not divide by the members, or if
  /// neither of the numbers of key heads and of members divides the other.
  static std::optional<HeadSplit> create(HeadCounts counts, int64_t members);

  int64_t heads() const { return counts.heads / members; }
  int64_t kvHeads() const {
    return counts.kvHeads >= members ? counts.kvHeads / members : 1;
  }
  int64_t firstHead(int64_t member) const { return member * heads(); }
  int64_t firstKvHead(int64_t member) const {
    return member * counts.kvHeads / members;
  }

  /// These return the split of rows of queries, the split of rows of keys (and
  /// of values), and the split of rows that hold all three in `layout`.
  FeatureSplit queries() const;
  FeatureSplit keys() const;
  FeatureSplit fused(ir::QKVLayout layout) const;
};

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H
