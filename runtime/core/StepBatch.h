//===- StepBatch.h - the rows of one step ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STEPBATCH_H
#define SLUICE_RUNTIME_CORE_STEPBATCH_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Names an open sequence of a cache: CachePages::open() gives them out.
using SequenceId = int32_t;

/// The row table of a step: one token of one sequence at one position a row.
/// Bounded by the limits given at the start; add() and clear() allocate
/// nothing. Rows of one sequence must lie together, in ascending positions
/// without a gap; several sequences may share a step. Thread-compatible.
class StepBatch {
public:
  /// Room for `rowLimit` rows, of which `outputLimit` may ask for logits.
  StepBatch(int64_t rowLimit, int64_t outputLimit);

  /// Adds a row. Errors (and the batch stays as it was): a limit is reached, a
  /// negative number, or a row that does not continue its sequence.
  Status add(SequenceId sequence, int64_t position, int32_t token,
             bool wantsLogits);

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

private:
  int64_t maxRows;
  int64_t maxOutputs;
  std::vector<int32_t> tokenOf;
  std::vector<int32_t> positionOf;
  std::vector<SequenceId> sequenceOf;
  std::vector<int32_t> outputRow;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STEPBATCH_H
