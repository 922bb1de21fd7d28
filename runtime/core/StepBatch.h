//===- StepBatch.h - the rows of one step ---------------------------------===//
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

/// Names an open sequence of a cache: CachePages::open() gives them out.
using SequenceId = int32_t;

/// A row whose key and value are stored in one more sequence, at the row's
/// position: a sequence that was forked in this very step behind the row, so
/// that the page that was copied for it has not got them.
struct Mirror {
  int32_t row = 0;
  SequenceId sequence = 0;
  bool operator==(const Mirror &) const = default;
};

/// The row table of a step: one token of one sequence at one position a row.
/// Bounded by the limits given at the start; no later call allocates. Rows of
/// one sequence are added together, in ascending positions without a gap;
/// several sequences may share a step. After keep() they need not lie together
/// any more. Thread-compatible.
class StepBatch {
public:
  /// Room for `rowLimit` rows, of which `outputLimit` may ask for logits, and
  /// for `mirrorLimit` mirrors.
  StepBatch(int64_t rowLimit, int64_t outputLimit, int64_t mirrorLimit = 0);

  /// Adds a row. Errors (and the batch stays as it was): a limit is reached, a
  /// negative number, or a row that does not continue its sequence.
  Status add(SequenceId sequence, int64_t position, int32_t token,
             bool wantsLogits);

  /// Stores the row in `sequence` as well. Mirrors are added in ascending order
  /// of their rows. Errors (and the batch stays as it was): the limit is
  /// reached, no such row, one below the last mirror's, or its own sequence.
  Status addMirror(int64_t row, SequenceId sequence);

  /// Rows leave: alive[row] says which stay, and `moves`, made in order, bring
  /// the `rows` living ones to the front, as planCompaction() has it. Outputs
  /// and mirrors of the others leave with them. Nothing can be added until
  /// clear(). O(rows).
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

  /// The rows that asked for logits, ascending: output o belongs to row
  /// outputRows()[o].
  std::span<const int32_t> outputRows() const { return outputRow; }

  /// Ascending by row.
  std::span<const Mirror> mirrors() const { return mirrored; }

private:
  /// A sequence that has rows, in the batch since the clear() so numbered.
  struct SequenceSlot {
    SequenceId sequence = 0;
    uint64_t clears = 0;
  };
  SequenceSlot &slotOf(SequenceId sequence);

  int64_t maxRows;
  int64_t maxOutputs;
  int64_t maxMirrors;
  bool compacted = false; ///< by keep(); until clear()
  std::vector<int32_t> tokenOf;
  std::vector<int32_t> positionOf;
  std::vector<SequenceId> sequenceOf;
  std::vector<uint8_t> wantsOf; ///< whether the row is one of outputRow
  std::vector<int32_t> outputRow;
  std::vector<Mirror> mirrored;
  std::vector<int32_t> rowNow; ///< [row before keep()]: the row after it
  std::vector<SequenceSlot>
      sequenceSlots; ///< of sequences, by their hash; half are empty
  uint64_t clears = 1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STEPBATCH_H
