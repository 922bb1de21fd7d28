//===- StepTables.h - the tables of a step's rows -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables are one block of int32 numbers that the host fills and sends
// before a step; they have the same offsets on the host and on the device. The
// block begins with what is sent ahead of the step:
//
//   copies, pairs[copies][2]         pages to copy
//
// Then come the tables of the step, whose sizes follow from the capacity of its
// graph:
//
//   counts                           rows, outputs, mirrors, moves
//   tokens[rows]                     as of the step's start
//   positions[rows] sequences[rows] origins[rows] wantsOutput[rows]
//   spanPlaces[rows]                 kernels/CacheABI.h
//   departedAt[rows]                 0 at first; kernels/CompactABI.h
//   outputRows[outputs]
//   outputSources[outputs]           output numbers as of the step's start
//   requests[outputs]                OutputRequests, by those numbers
//   pages[...]                       of the sequences that have rows
//   mirrorRows[mirrors] mirrorSequences[mirrors]
//
// A sequence's number in a step is the place where its pages begin in `pages`.
// So the pages of all sequences follow each other without gaps, and only the
// tables of the rows that the step has are sent: some kilobytes. Mirrors are
// rare, and are sent separately.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPTABLES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPTABLES_H

#include "runtime/device/StepInput.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/kernels/CacheABI.h"

#include <array>
#include <vector>

namespace sluice::cuda {

/// The offsets of the tables, in int32 numbers from the block's start. Tables
/// are aligned to 256 bytes.
struct TableLayout {
  /// How many pairs are sent at a time.
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

  /// Makes the layout for graphs of `rows` rows. With more rows no offset is
  /// smaller.
  TableLayout(const CudaExecutorOptions &limits, int64_t rows);

  int64_t rows; ///< capacity
  /// Capacity: as many as a step of `rows` rows can have.
  int64_t mirrors;
  int64_t sequences; ///< capacity
  int64_t pagesPerSequence;

  int64_t tokens, positions, sequenceOf, origins, wantsOutput, spanPlaces,
      departedAt;
  int64_t outputRows, outputSources, requests, pages, mirrorRows,
      mirrorSequences;
  int64_t words; ///< the size of the block
};

/// Fills a block. Allocates nothing after its construction. Thread-compatible.
class StepTables {
public:
  /// `block` has room for any layout of the limits, and outlives this object.
  StepTables(const CudaExecutorOptions &limits, int32_t *block);

  /// How a graph computes attention.
  struct Attention {
    int64_t places = 0; ///< how many there are for spans of rows
    /// The tile sizes of the layers. A chunk of that many rows needs no places.
    std::span<const int32_t> tileRows = {};
  };

  /// Writes the step's rows, outputs, mirrors and page tables for the graph
  /// with that layout. Rows of several spans get places as long as there are
  /// some, the longest rows first; rows that every layer computes in tiles need
  /// none. Error: there are more mirrors or sequences than there is room for.
  Status fill(const device::StepInput &input, const TableLayout &layout,
              const Attention &attention);

  /// Writes `copies`, of which there are at most TableLayout::copies.
  void setCopies(std::span<const PageCopy> copies);

  /// A part of the block: `count` numbers from `first` on.
  struct Part {
    int64_t first = 0, count = 0;
  };
  /// Returns the part that setCopies() has written.
  Part copyPart() const { return {0, TableLayout::CopyPairs + 2 * copyCount}; }
  /// Returns the parts that fill() has written, which are sent before the step.
  /// Empty parts need not be sent.
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
  std::vector<int32_t> runs; ///< [row]: the first row of its run of positions
  int64_t pagesUsed = 0;
  /// An entry of a hash table of the sequences that have rows: the number of
  /// `sequence` in the step `step`. Entries of earlier steps count as empty.
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

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPTABLES_H
