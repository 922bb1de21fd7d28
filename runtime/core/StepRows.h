//===- StepRows.h - the rows of a stage's step, from frames ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of the step that a stage is forming or computing. While it forms,
// rows come in any order of sequences; then they are put into a StepBatch,
// sequence by sequence; then some leave it at checkpoints.
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

/// Where a row of the step came from: its activations lie in row `frameRow` of
/// the frame that was enqueued as number `frame`, counted from 0 since the
/// start.
struct RowOrigin {
  uint64_t frame = 0;
  int32_t frameRow = 0;
};

/// Memory is taken by the constructor; no later call allocates.
/// Thread-compatible.
class StepRows {
public:
  /// For steps of at most `rows` rows, `outputs` of which want an output, of
  /// sequences below `sequences`. In the batch, tokens above `lastToken` are
  /// `lastToken`.
  StepRows(int64_t rows, int64_t outputs, int64_t sequences,
           int32_t lastToken = std::numeric_limits<int32_t>::max());

  /// Starts a step.
  void clear();

  bool hasRoom(bool wantsOutput) const {
    return std::ssize(admitted) < limit &&
           (!wantsOutput || outputs < outputLimit);
  }

  /// Adds a row, for which there is room, to the end of its sequence; its
  /// index until arrange().
  int32_t add(const Row &row, RowOrigin origin, SequenceId sequence);
  /// The row with this index has come again: it wants an output and is certain
  /// if either of them is. False: no room for the output, nothing changed.
  bool merge(int32_t index, const Row &again);
  void addCopy(const PageCopy &copy) { copies.push_back(copy); }
  void addMirror(int32_t index, SequenceId sequence) {
    mirrors.push_back({index, sequence});
  }

  /// Puts the rows together by sequence, in the order in which the sequences
  /// got their first row; so parents still come before their children. Fills
  /// batch(), rows() and origins(). Errors are mistakes of the caller.
  Status arrange();

  /// Lets rows leave. Returns the moves; see StepBatch::keep().
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
  /// Of a sequence: which it is in the order of first rows, and in which step.
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
  std::vector<SequenceId> sequenceOf; ///< [row], as arranged
  std::vector<RowMove> moves;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STEPROWS_H
