//===- StepBatch.h - the row table of a step ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STEPBATCH_H
#define SLUICE_RUNTIME_CORE_STEPBATCH_H

#include "runtime/base/Status.h"
#include "runtime/core/RowMoves.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Names an open sequence of a cache; CachePages::open() returns it.
using SequenceId = int32_t;

/// A row whose key and value are stored in a second sequence too, at the row's
/// position. That sequence was forked in this very step after the row, so the
/// page that was copied for it does not have the row.
struct Mirror {
  int32_t row = 0;
  SequenceId sequence = 0;
  bool operator==(const Mirror &) const = default;
};

/// The row table of a step; each row is one token of one sequence at one
/// position. Bounded by the limits given at construction; no later call
/// allocates. The rows of a sequence are added together, at ascending positions
/// without a gap; several sequences may share a step. After keep() the rows of
/// a sequence need not lie together any more. Thread-compatible.
class StepBatch {
public:
  /// Makes room for `rowLimit` rows, of which `outputLimit` may ask for logits,
  /// and for `mirrorLimit` mirrors.
  StepBatch(int64_t rowLimit, int64_t outputLimit, int64_t mirrorLimit = 0);

  /// Adds a row. Fails, and changes nothing, if a limit is reached, a number is
  /// negative, or the row does not continue its sequence.
  Status add(SequenceId sequence, int64_t position, int32_t token,
             bool wantsLogits);

  /// Stores the row in `sequence` as well. Mirrors must be added in ascending
  /// order of their rows. Fails, and changes nothing, if the limit is reached,
  /// the row does not exist or is below the last mirror's, or `sequence` is the
  /// row's own.
  Status addMirror(int64_t row, SequenceId sequence);

  /// Removes the rows whose alive[row] is 0, with their outputs and mirrors.
  /// `moves`, from planCompaction(), bring the `rows` living rows to the front.
  /// Nothing can be added until clear(). O(rows).
  void keep(std::span<const uint8_t> alive, std::span<const RowMove> moves,
            int64_t rows);

  void clear();

  int64_t rows() const { return static_cast<int64_t>(tokenOf.size()); }
  int64_t rowLimit() const { return maxRows; }
  int64_t freeRows() const { return maxRows - rows(); }
  int64_t outputs() const { return static_cast<int64_t>(outputRow.size()); }
  int64_t freeOutputs() const { return maxOutputs - outputs(); }

  /// Columns of the table, indexed by row.
  std::span<const int32_t> tokens() const { return tokenOf; }
  std::span<const int32_t> positions() const { return positionOf; }
  std::span<const SequenceId> sequences() const { return sequenceOf; }

  /// Returns the rows that asked for logits, ascending: output o belongs to row
  /// outputRows()[o].
  std::span<const int32_t> outputRows() const { return outputRow; }

  /// Ascending by row.
  std::span<const Mirror> mirrors() const { return mirrored; }

private:
  /// A sequence that has rows in the batch, if `clears` is the present count.
  struct SequenceSlot {
    SequenceId sequence = 0;
    uint64_t clears = 0;
  };
  SequenceSlot &slotOf(SequenceId sequence);

  int64_t maxRows;
  int64_t maxOutputs;
  int64_t maxMirrors;
  bool compacted = false; ///< whether keep() was called since clear()
  std::vector<int32_t> tokenOf;
  std::vector<int32_t> positionOf;
  std::vector<SequenceId> sequenceOf;
  std::vector<uint8_t> wantsOf; ///< [row]: whether it is one of outputRow
  std::vector<int32_t> outputRow;
  std::vector<Mirror> mirrored;
  std::vector<int32_t> rowNow; ///< [row before keep()]: the row after it
  /// A hash table by sequence; at least half of the slots are empty.
  std::vector<SequenceSlot> sequenceSlots;
  uint64_t clears = 1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STEPBATCH_H
