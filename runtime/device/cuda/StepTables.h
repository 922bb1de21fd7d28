//===- StepTables.h - what a step is told of its rows ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of int32 numbers that the host fills and sends before a step, at
// the same offsets there and on the device:
//
//   counts[16]                       rows, outputs, mirrors, copies, moves
//   positions[rows] sequences[rows] origins[rows] wantsOutput[rows]
//   leftAt[rows]                     0; kernels/CompactABI.h
//   outputRows[outputs]
//   mirrorRows[mirrors] mirrorSequences[mirrors]
//   copies[copies][2]
//   pages[sequences][pagesPerSequence]
//
// Sequences are numbered within the step, so that the tables of those alone are
// sent that have rows.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H

#include "runtime/device/StepInput.h"
#include "runtime/device/cuda/Program.h"

#include <vector>

namespace sluice::cuda {

/// Offsets in numbers from the block's beginning; parts are aligned to 256
/// bytes.
struct TableLayout {
  enum Count : int64_t {
    Rows,
    Outputs,
    Mirrors,
    Copies,
    Moves,
    CountsEnd = 64
  };

  explicit TableLayout(const ExecutorLimits &limits);

  int64_t rows;      ///< capacity
  int64_t mirrors;   ///< capacity: what a step of `rows` rows can have
  int64_t copies;    ///< capacity: those sent at a time
  int64_t sequences; ///< capacity
  int64_t pagesPerSequence;

  int64_t positions, sequenceOf, origins, wantsOutput, leftAt;
  int64_t outputRows, mirrorRows, mirrorSequences, copyPairs, pages;
  int64_t words; ///< of all
};

/// Fills a block. Allocates nothing after it is made. Thread-compatible.
class StepTables {
public:
  /// `block` has layout.words numbers, and outlives the tables.
  StepTables(const TableLayout &layout, int32_t *block);

  /// The step's rows, outputs, mirrors and page tables; no copies. Error: more
  /// mirrors or sequences than there is room for.
  Status fill(const device::StepInput &input);

  /// `copies`, at most layout.copies.
  void setCopies(std::span<const PageCopy> copies);

  /// Numbers of the block that fill() has used: they are to be sent.
  int64_t wordsUsed() const { return layout.pages + pagesUsed; }

private:
  Expected<int32_t> numberOf(SequenceId sequence,
                             const device::StepInput &input);

  TableLayout layout;
  int32_t *block;
  int64_t pagesUsed = 0;
  /// A sequence of the cache that has rows, by its hash: its number in the step
  /// so counted.
  struct Place {
    uint64_t step = 0;
    SequenceId sequence = 0;
    int32_t number = 0;
  };
  std::vector<Place> places;
  uint64_t step = 0;
  int32_t sequencesUsed = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H
