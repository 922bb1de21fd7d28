//===- StepRows.h - builds a stage's step from rows of frames -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of the step that a stage forms or computes. While the step is being
// formed, rows come with their sequences in any order. arrange() then puts them
// into a StepBatch, sequence by sequence, and later rows leave it at
// checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STEPROWS_H
#define SLUICE_RUNTIME_CORE_STEPROWS_H

#include "runtime/core/CachePages.h"
#include "runtime/core/RowMoves.h"
#include "runtime/core/Rows.h"
#include "runtime/core/StepBatch.h"

#include <limits>
#include <span>
#include <vector>

namespace sluice {

/// The origin of a row: its activations lie in row `frameRow` of the frame that
/// was enqueued as number `frame`, counted from 0.
struct RowOrigin {
  uint64_t frame = 0;
  int32_t frameRow = 0;
};

/// The constructor allocates all memory; no later call allocates.
/// Thread-compatible.
class StepRows {
public:
  /// Makes room for steps of at most `rows` rows, `outputs` of which want an
  /// output, in sequences with ids below `sequences`. In the batch, tokens
  /// above `lastToken` are replaced by `lastToken`.
  StepRows(int64_t rows, int64_t outputs, int64_t sequences,
           int32_t lastToken = std::numeric_limits<int32_t>::max());

  /// Starts a new step.
  void clear();

  bool hasRoom(bool wantsOutput) const {
    return std::ssize(admitted) < limit &&
           (!wantsOutput || outputs < outputLimit);
  }

  /// Adds a row, for which there must be room, at the end of its sequence.
  /// Returns the row's index, which is valid until arrange().
  int32_t add(const Row &row, RowOrigin origin, SequenceId sequence);
  /// Merges a repeated row into the row with this index: it wants an output, or
  /// is certain, if one of them does or is. Returns false, and changes nothing,
  /// if there is no room for the output.
  bool merge(int32_t index, const Row &again);
  void addCopy(const PageCopy &copy) { copies.push_back(copy); }
  void addMirror(int32_t index, SequenceId sequence) {
    mirrors.push_back({index, sequence});
  }

  /// Groups the rows by sequence, in the order of the sequences' first rows, so
  /// parents still come before their children. Fills batch(), rows() and
  /// origins(). Errors are mistakes of the caller.
  Status arrange();

  /// Removes the rows that are not alive. Returns the moves; see
  /// StepBatch::keep().
  std::span<const RowMove> keep(std::span<const uint8_t> alive);

  const StepBatch &batch() const { return steps; }
  std::span<const Row> rows() const { return rowOf; }
  std::span<const RowOrigin> origins() const { return originOf; }
  std::span<const PageCopy> pageCopies() const { return copies; }

private:
  struct Admitted {
    Row row;
    RowOrigin origin;
    SequenceId sequence = 0;
    int32_t batchRow = 0;
  };
  /// The number of a sequence in the order of first rows, in step `step`.
  struct Group {
    uint64_t step = 0;
    int32_t ordinal = 0;
  };

  int64_t limit;
  int64_t outputLimit;
  int32_t lastToken;
  int64_t outputs = 0;
  uint64_t step = 0;
  std::vector<Admitted> admitted;
  std::vector<Group> groups;      ///< [sequence]
  std::vector<int32_t> rowsSoFar; ///< [ordinal]
  std::vector<Mirror> mirrors;
  std::vector<PageCopy> copies;

  StepBatch steps;
  std::vector<Row> rowOf;
  std::vector<RowOrigin> originOf;
  std::vector<SequenceId> sequenceOf; ///< [row], as arrange() placed them
  std::vector<RowMove> moves;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STEPROWS_H
