//===- Wgmma.cuh - the same product by mma.sync and by wgmma --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMA_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMA_CUH

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbePrimitives.cuh"

namespace sluice::cuda::probe {

/// Computes a tile in all three ways; see WgmmaArguments. With g = lane / 4 and
/// t = lane % 4, a lane of warp w has
///   of A: rows 16 w + g, 16 w + g + 8 at features 2 t, 2 t + 1, and then both
///         at features 2 t + 8, 2 t + 9: the first factor of mma.m16n8k16,
///         which is also that of wgmma.m64n8k16 in registers;
///   of B: column g at features 2 t, 2 t + 1 and 2 t + 8, 2 t + 9 (mma alone);
///   of D: row 16 w + g at columns 2 t, 2 t + 1; then row 16 w + g + 8.
template <bool isBfloat> class WgmmaTile {
public:
  SLUICE_MEMBER static void run(const WgmmaArguments &arg) {
    launchDependents();
    waitForPrior();
    WgmmaTile tile(arg);
    tile.stage();
    tile.multiplyBySync();
    if (arg.steps == 1)
      tile.multiplyByGroup<1>();
    else if (arg.steps == 2)
      tile.multiplyByGroup<2>();
    else
      tile.multiplyByGroup<8>();
  }

private:
  /// Core matrices of 8 rows by 8 features have 128 bytes. The two of a step
  /// are adjacent, so eight rows of a step take 256 bytes.
  static constexpr uint32_t coreBytes = 128;
  static constexpr uint32_t groupBytes = 2 * coreBytes;
  static constexpr int32_t aStepBytes = wgmmaRows / 8 * groupBytes;
  static constexpr int32_t bStepBytes = wgmmaColumns / 8 * groupBytes;

  const uint16_t *a, *b; ///< the factors of the tile
  float *d;
  int32_t steps;
  uint32_t row;  ///< the lane's first row of A and D
  uint32_t pair; ///< 2 t
  uint8_t *sharedA, *sharedB;

  SLUICE_MEMBER explicit WgmmaTile(const WgmmaArguments &arg)
      : steps(int32_t(arg.steps)), row(16 * warpIndex() + laneIndex() / 4),
        pair(laneIndex() % 4 * 2), sharedA(sharedMemory()),
        sharedB(sharedMemory() + steps * aStepBytes) {
    const auto tile = int64_t(blockX());
    a = arg.a + tile * wgmmaRows * features();
    b = arg.b + tile * wgmmaColumns * features();
    d = arg.d + tile * (wgmmaWayCount * wgmmaRows * wgmmaColumns);
  }

  SLUICE_MEMBER int32_t features() const { return 16 * steps; }

  /// Copies both factors to shared memory, in the layout of the descriptors.
  SLUICE_MEMBER void stage() {
    stageRows(a, wgmmaRows, sharedA, aStepBytes);
    stageRows(b, wgmmaColumns, sharedB, bStepBytes);
    // Threads write through one proxy and wgmma reads through another: each
    // thread fences what it has written, and then all threads wait for each
    // other.
    fenceAsyncProxy();
    syncThreads();
  }
  SLUICE_MEMBER void stageRows(const uint16_t *from, int32_t rows, uint8_t *to,
                               int32_t stepBytes) {
    // Eight features of a row are a row of a core matrix, 16 bytes.
    const int32_t vectors = features() / 8;
    for (auto i = int32_t(threadIndex()); i < rows * vectors;
         i += wgmmaThreads) {
      const int32_t r = i / vectors, v = i % vectors;
      store16(to + v / 2 * stepBytes + r / 8 * int32_t(groupBytes) +
                  v % 2 * int32_t(coreBytes) + r % 8 * 16,
              load16(from + int64_t(r) * features() + v * 8));
    }
  }

  SLUICE_MEMBER static uint32_t twoOf(const uint16_t *numbers) {
    return *reinterpret_cast<const uint32_t *>(numbers);
  }
  SLUICE_MEMBER void loadA(uint32_t (&to)[4], int32_t step) const {
    const uint16_t *from = a + row * uint32_t(features()) + step * 16 + pair;
    const uint16_t *lower = from + 8 * features();
    to[0] = twoOf(from);
    to[1] = twoOf(lower);
    to[2] = twoOf(from + 8);
    to[3] = twoOf(lower + 8);
  }

  SLUICE_MEMBER void multiplyBySync() {
    float sum[4] = {0, 0, 0, 0};
    for (int32_t step = 0; step < steps; ++step) {
      uint32_t factor[4];
      loadA(factor, step);
      const uint16_t *column =
          b + laneIndex() / 4 * uint32_t(features()) + step * 16 + pair;
      if constexpr (isBfloat)
        multiplyBF16(sum, factor, twoOf(column), twoOf(column + 8));
      else
        multiplyF16(sum, factor, twoOf(column), twoOf(column + 8));
    }
    store(WgmmaWay::MmaSync, sum);
  }

  /// Keeps `batch` products in flight together.
  template <int batch> SLUICE_MEMBER void multiplyByGroup() {
    MatrixProducts products;
    float sum[4] = {0, 0, 0, 0};
    for (int32_t first = 0; first < steps; first += batch) {
      uint32_t factors[batch][4];
#pragma unroll
      for (int i = 0; i < batch; ++i)
        loadA(factors[i], first + i);
      products.begin(sum);
#pragma unroll
      for (int i = 0; i < batch; ++i)
        products.template add<isBfloat>(sum, factors[i], describeB(first + i));
      products.finish(sum);
    }
    store(WgmmaWay::FromRegisters, sum);
    float other[4] = {0, 0, 0, 0};
    for (int32_t first = 0; first < steps; first += batch) {
      products.begin(other);
#pragma unroll
      for (int i = 0; i < batch; ++i)
        products.template add<isBfloat>(
            other,
            matrixDescriptor(sharedA + (first + i) * aStepBytes, coreBytes,
                             groupBytes),
            describeB(first + i));
      products.finish(other);
    }
    store(WgmmaWay::FromShared, other);
  }
  SLUICE_MEMBER uint64_t describeB(int32_t step) const {
    return matrixDescriptor(sharedB + step * bStepBytes, coreBytes, groupBytes);
  }

  SLUICE_MEMBER void store(WgmmaWay way, const float (&sum)[4]) {
    float *to =
        d + (int32_t(way) * wgmmaRows + int32_t(row)) * wgmmaColumns + pair;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i / 2 * 8 * wgmmaColumns + i % 2] = sum[i];
  }
};

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_WGMMA_CUH
