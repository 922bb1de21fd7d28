//===- CacheModel.h - a layer's cache for tests in the emulator -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_CACHEMODEL_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_CACHEMODEL_H

#include "runtime/core/CachePages.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/test/TestUtils.h"

namespace sluice::cuda {

const char *kindName(CacheKind kind);

/// The sequence and the position of a row of a step.
struct StepRow {
  int32_t sequence, position;
};

/// How attention is launched.
struct AttendWay {
  /// Whether tiles compute chunks; spans compute all other rows.
  bool tiles = false;
  uint32_t spanBlocks = 1;
  int32_t capacity = 0; ///< 0 for the number of rows
  emulator::Order order = emulator::Order::Ascending;
  /// Blocks of the kernels that go over rows; 0 for one for each row of
  /// capacity.
  int32_t rowBlocks = 0;
  /// Places for spans. They are given to rows from the last row on, while there
  /// are enough.
  int32_t places = 1 << 20;
  /// What the launch does at its end for the one row. attend() sets the ticket,
  /// and the rows of the first norm to the results.
  RowTail tail = {};
};

/// Rotations that an append does besides.
struct RotatedRows {
  std::vector<float> table; ///< [position]: `pairs` cosines, then as many sines
  int32_t pairs = 0;
  bool isHalf = false;
  int32_t heads = 0;           ///< of queries
  std::vector<float> q;        ///< [row][heads][headDim]
  std::vector<float> rotatedQ; ///< the results
  std::vector<float> rotatedK;
};

/// One layer's cache of some sequences, whose pages are in no particular order.
/// At first it is filled with finite numbers that were not stored.
class CacheModel {
public:
  CacheModel(CacheKind kind, int32_t kvHeads, int32_t headDim,
             int32_t sequences, int32_t tokens);

  /// Gives the sequence these pages, from among all pages of the cache. Later
  /// entries of its page table stay.
  void setPages(int32_t sequence, std::span<const int32_t> held);
  /// Copies pages, launched like on the host (sluice_copy_pages).
  void copy(const std::vector<PageCopy> &copies);
  /// Fills the cache with random numbers of magnitudes in [1/4, 1/2). headDim
  /// must be one for which kernels are made, so that the cache has no padding.
  void fill(std::mt19937 &random);

  /// Appends k[row][kvHeads][headDim] and v of the rows and of mirrors. With
  /// `rotated`, rotates keys before, and queries.
  void append(const std::vector<StepRow> &rows, const std::vector<float> &k,
              const std::vector<float> &v,
              const std::vector<Mirror> &mirrors = {},
              RotatedRows *rotated = nullptr);

  /// Returns out[row][heads][headDim]. With tiles, it expects that their kernel
  /// writes exactly the rows that are in tiles, and that the other kernels
  /// write exactly the other rows.
  std::vector<float> attend(const SluiceAttention &params,
                            const std::vector<StepRow> &rows,
                            const std::vector<float> &q,
                            const AttendWay &way = {});

  /// Returns what is stored for a sequence, as [position][kvHeads][headDim].
  std::vector<float> stored(bool values, int32_t sequence,
                            int32_t tokens) const;

  int32_t pageOf(int32_t sequence, int32_t position) const {
    return pages[size_t(sequence * pagesPerSequence + position / pageTokens)];
  }

private:
  AttendArguments argumentsOf(const SluiceAttention &params) const;

  CacheKind kind;
  int32_t kvHeads, headDim, dim, pagesPerSequence;
  DeviceArray<uint8_t> bytes;
  DeviceArray<int32_t> pages;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_CACHEMODEL_H
