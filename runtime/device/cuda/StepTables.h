//===- StepTables.h - what a step is told of its rows ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of int32 numbers that the host fills and sends before a step, at
// the same offsets there and on the device. First what comes before the steps:
//
//   copies, pairs[copies][2]         pages to copy
//
// and then what a step is told, by the capacity of its graph:
//
//   counts                           rows, outputs, mirrors, moves
//   tokens[rows]                     as the step begins
//   positions[rows] sequences[rows] origins[rows] wantsOutput[rows]
//   spanPlaces[rows]                 kernels/CacheABI.h
//   departedAt[rows]                     0; kernels/CompactABI.h
//   outputRows[outputs]
//   outputSources[outputs]           their numbers as the step begins
//   requests[outputs]                OutputRequests, by those
//   pages[...]                       of the sequences that have rows
//   mirrorRows[mirrors] mirrorSequences[mirrors]
//
// A sequence's number in a step is where its pages begin; so they lie behind
// each other, whatever a sequence could have, and what is sent of the tables is
// what the step has: some kilobytes. Mirrors are seldom, and sent by
// themselves.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H

#include "runtime/device/StepInput.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/kernels/CacheABI.h"

#include <array>
#include <vector>

namespace sluice::cuda {

/// Offsets in numbers from the block's beginning; parts are aligned to 256
/// bytes.
struct TableLayout {
  /// Pairs that are sent at a time.
  static constexpr int64_t copies = 512;
  enum Place : int64_t {
    Copies = 0,
    CopyPairs = 64,
    Rows = CopyPairs + 2 * copies,
    Outputs,
    Mirrors,
    Moves,
    CountsEnd = Rows + 64
  };

  /// For graphs of `rows` rows. With more rows nothing lies further ahead.
  TableLayout(const CudaExecutorLimits &limits, int64_t rows);

  int64_t rows;      ///< capacity
  int64_t mirrors;   ///< capacity: what a step of `rows` rows can have
  int64_t sequences; ///< capacity
  int64_t pagesPerSequence;

  int64_t tokens, positions, sequenceOf, origins, wantsOutput, spanPlaces,
      departedAt;
  int64_t outputRows, outputSources, requests, pages, mirrorRows,
      mirrorSequences;
  int64_t words; ///< of all
};

/// Fills a block. Allocates nothing after it is made. Thread-compatible.
class StepTables {
public:
  /// `block` has room for any layout of the limits, and outlives the tables.
  StepTables(const CudaExecutorLimits &limits, int32_t *block);

  /// How a graph computes attention.
  struct Attention {
    int64_t places = 0; ///< for spans of rows
    /// Chunks of so many rows are computed without; by the layers' shapes.
    std::span<const int32_t> tileRows = {};
  };

  /// The step's rows, outputs, mirrors and page tables, for the graph with that
  /// layout. Rows of several spans get places, as long as there are some, the
  /// longest first; those that every layer computes in tiles need none. Error:
  /// more mirrors or sequences than there is room for.
  Status fill(const device::StepInput &input, const TableLayout &layout,
              const Attention &attention);

  /// `copies`, at most TableLayout::copies.
  void setCopies(std::span<const PageCopy> copies);

  /// Numbers of the block: from `first` on, `count` of them.
  struct Part {
    int64_t first = 0, count = 0;
  };
  /// What setCopies() has written.
  Part copyPart() const { return {0, TableLayout::CopyPairs + 2 * copyCount}; }
  /// What fill() has, to be sent before the step; empty ones need not be.
  std::array<Part, 3> stepParts() const { return parts; }

private:
  Expected<int32_t> numberOf(SequenceId sequence,
                             const device::StepInput &input,
                             const TableLayout &layout);
  Status fillRows(const device::StepInput &input, const TableLayout &layout);
  void placeSpans(const StepBatch &batch, const TableLayout &layout,
                  const Attention &attention);
  bool isInTiles(const StepBatch &batch, int64_t row,
                 std::span<const int32_t> tileRows) const;
  Status fillMirrors(const device::StepInput &input, const TableLayout &layout);

  int32_t *block;
  std::array<Part, 3> parts;
  int64_t copyCount = 0;
  std::vector<int32_t> longRows;
  std::vector<int32_t> runs; ///< [row]: where its run of positions begins
  int64_t pagesUsed = 0;
  /// A sequence of the cache that has rows, by its hash: its number in the step
  /// so counted.
  struct SequenceNumber {
    uint64_t step = 0;
    SequenceId sequence = 0;
    int32_t number = 0;
  };
  std::vector<SequenceNumber> sequenceNumbers;
  uint64_t step = 0;
  int64_t sequencesUsed = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEPTABLES_H
