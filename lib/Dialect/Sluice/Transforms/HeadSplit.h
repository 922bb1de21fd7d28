//===- HeadSplit.h - what each member of a group has ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which features of a row each member of a tensor-parallel group has. Plain
// numbers: the pass --sluice-shard-tensors takes them to ops and weights.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H
#define SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace sluice {

/// By member, begin and end of each range of features that it has, one behind
/// the other. All members have the same number of features.
struct FeatureSplit {
  llvm::SmallVector<llvm::SmallVector<int64_t>> ranges;

  /// Features of each member.
  int64_t width() const;
  bool operator==(const FeatureSplit &) const = default;
};

/// `width` features in as many equal parts as members; nullopt where they do
/// not divide.
std::optional<FeatureSplit> splitEvenly(int64_t width, int64_t members);

/// The same for features whose copies do no harm: where they do not divide, the
/// last members' parts overlap. nullopt where some member would have nothing of
/// its own.
std::optional<FeatureSplit> splitWithOverlap(int64_t width, int64_t members);

/// Attention's heads.
struct HeadCounts {
  int64_t heads = 0;
  int64_t kvHeads = 0; ///< divides heads
  int64_t headDim = 0;
};

/// The heads of each member: query heads in equal parts, and with each part the
/// key heads that it reads, which several members keep where there are fewer of
/// them than members.
struct HeadSplit {
  HeadCounts counts; ///< of all members
  int64_t members = 1;

  /// nullopt: the query heads do not divide by the members, or a member would
  /// read more of one key head than of another.
  static std::optional<HeadSplit> create(HeadCounts counts, int64_t members);

  int64_t heads() const { return counts.heads / members; }
  int64_t kvHeads() const {
    return counts.kvHeads >= members ? counts.kvHeads / members : 1;
  }
  int64_t firstHead(int64_t member) const { return member * heads(); }
  int64_t firstKvHead(int64_t member) const {
    return member * counts.kvHeads / members;
  }

  /// Of rows of queries; of keys, and as well of values; and of rows that hold
  /// all three as `layout` says.
  FeatureSplit queries() const;
  FeatureSplit keys() const;
  FeatureSplit fused(ir::QKVLayout layout) const;
};

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_HEADSPLIT_H
