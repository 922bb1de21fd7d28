//===- CacheModel.h - a layer's cache in the emulator, for tests ----------===//
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

/// The rows of a step: sequence and position of each.
struct StepRow {
  int32_t sequence, position;
};

/// How attention is launched.
struct AttendWay {
  bool tiles = false; ///< chunks by tiles, all others by spans; else by spans
  uint32_t spanBlocks = 1;
  int32_t capacity = 0; ///< 0: the rows
  emulator::Order order = emulator::Order::Ascending;
  /// Of the kernels that go over rows; 0: one for each of the capacity.
  int32_t rowBlocks = 0;
  /// For spans; given to rows from the last one on, while there are enough.
  int32_t places = 1 << 20;
};

/// One layer's cache of some sequences, whose pages lie in no order; at first
/// filled with finite numbers that nobody has stored.
class CacheModel {
public:
  CacheModel(CacheKind kind, int32_t kvHeads, int32_t headDim,
             int32_t sequences, int32_t tokens);

  /// From now on the sequence has these pages, of all that the cache has; the
  /// table keeps those behind them.
  void setPages(int32_t sequence, std::span<const int32_t> held);
  /// As the host asks for it (sluice_copy_pages).
  void copy(const std::vector<PageCopy> &copies);
  /// Puts random numbers of magnitudes in [1/4, 1/2) everywhere. The cache has
  /// room for no others: headDim is one of those that kernels are made for.
  void fill(std::mt19937 &random);

  /// k[row][kvHeads][headDim] and v of the rows, and of mirrors.
  void append(const std::vector<StepRow> &rows, const std::vector<float> &k,
              const std::vector<float> &v,
              const std::vector<Mirror> &mirrors = {});

  /// out[row][heads][headDim]. By tiles: expects that their kernel writes the
  /// rows that are in tiles, and no others, and that the other kernels compute
  /// the others, and none of these.
  std::vector<float> attend(const SluiceAttention &params,
                            const std::vector<StepRow> &rows,
                            const std::vector<float> &q,
                            const AttendWay &way = {});

  /// What is stored of a sequence, as [position][kvHeads][headDim].
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
