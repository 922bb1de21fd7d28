//===- Linear.h - matrix products of a step's rows with packed weights ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   const LinearKernels *kernels = linearKernels("avx512vnni");
//   if (takesQuantizedRows(weight.kind))
//     quantizeRows(*kernels, x, q, cols, firstRow, lastRow);
//   linear(*kernels, weight, q, bias, y, rows, share);     // on every thread
//
// A row's result depends on the row and the weight alone, bit for bit: not on
// how many rows there are, on its place among them, on the number of threads,
// nor on the instruction set. Every kernel sums a column in this order:
//
//   plain kinds      for each feature: sum = fma(x, w, sum)
//   e4m3             likewise; w is the number times its block's scale, in f32
//   quantised kinds  for each block of 32 (q6_k: of 16):
//                      sum = fma(float(dot), scale * xscale, sum)
//                      if it has minima: sum = fma(min, xscaledSum, sum)
//                    where dot is the exact integer product of the block
//   then sum + bias, if there is one.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_LINEAR_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_LINEAR_H

#include "runtime/device/cpu/Tickets.h"
#include "runtime/device/cpu/linear/ActivationRows.h"
#include "runtime/device/cpu/linear/PackedWeight.h"

#include <cstdint>
#include <string_view>

namespace sluice::cpu {

/// The work that one thread does at once: some panels times some rows.
struct LinearTask {
  PackedWeight weight;
  int64_t firstPanel, lastPanel;
  /// f32 x[row][inFeatures], or QuantizedBlock x[row][inFeatures / 32].
  const void *x;
  /// f32 bias[outFeatures], or null.
  const float *bias;
  /// f32 y[row][outFeatures].
  float *y;
  /// The thread's own memory of linearScratchBytes().
  void *scratch;
  int64_t firstRow, lastRow;
  /// Whether quantised weights are prefetched past the second cache if there
  /// are only one or two rows. Which way is faster depends on the processor.
  bool fetchesPastSecondCache;
};

/// The kernels of one instruction set, which are constants of the process.
struct LinearKernels {
  const char *name;
  /// Computes a task; by PackedKind.
  void (*run[packedKindCount])(const LinearTask &task);
  /// By PackedKind: how many panels are computed at once for that many rows. If
  /// the panels of a task are not a multiple of it, slower tiles compute the
  /// rest.
  int64_t (*panelsAtOnce[packedKindCount])(int64_t rows);
  /// By PackedKind: the bytes of LinearTask::scratch for a weight of that many
  /// input features.
  int64_t (*scratchBytes[packedKindCount])(int64_t inFeatures);
  void (*quantize)(const float *x, QuantizedBlock *q, int64_t blocks);
};

/// Returns the kernels of "avx2", "avx512" or "avx512vnni"; null for another
/// name. The caller must check that the processor has the instructions.
const LinearKernels *linearKernels(std::string_view name);

/// Quantises rows rowBegin .. rowEnd - 1 of x[row][cols] into q, which is
/// aligned to 16 bytes and holds rows of quantizedRowBytes(cols). `cols` is a
/// multiple of 32. Every instruction set gives the same bits.
void quantizeRows(const LinearKernels &kernels, const float *x, void *q,
                  int64_t cols, int64_t rowBegin, int64_t rowEnd);

/// Returns the bytes of working memory for one thread's part of a product. It
/// holds expanded panels of the weight, which several tiles of rows share.
int64_t linearScratchBytes(const LinearKernels &kernels,
                           const PackedWeight &weight);

/// A thread's number among those that share a product, and its memory.
struct LinearShare {
  int64_t thread, threads;
  /// The thread's own memory of linearScratchBytes(); its contents do not
  /// matter.
  void *scratch;
  /// Both are the same on all threads. `tickets` deals out the items of
  /// successive loops; `loop` is the number of this product's loop among them,
  /// and loops are reached in ascending order.
  Tickets &tickets;
  uint32_t loop;
};

/// Computes a thread's share of y = x * weight^T + bias. Every thread calls it
/// with the same arguments except `share`; when all calls have returned, y is
/// complete. Does not wait for other threads. `x` has f32 rows or quantised
/// rows, as takesQuantizedRows(weight.kind) says; `bias` may be null; y does
/// not overlap the inputs.
void linear(const LinearKernels &kernels, const PackedWeight &weight,
            const void *x, const float *bias, float *y, int64_t rows,
            const LinearShare &share);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_LINEAR_H
