//===- LinearDispatch.cpp - who computes which part of a product ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/KernelTables.h"
#include "runtime/device/cpu/linear/Linear.h"

#include <algorithm>
#include <cassert>

using namespace sluice;
using namespace sluice::cpu;

const LinearKernels *cpu::linearKernels(std::string_view name) {
  for (const LinearKernels *kernels :
       {&linearAvx2, &linearAvx512, &linearAvx512Vnni})
    if (name == kernels->name)
      return kernels;
  return nullptr;
}

void cpu::quantizeRows(const LinearKernels &kernels, const float *x, void *q,
                       int64_t cols, int64_t rowBegin, int64_t rowEnd) {
  assert(cols % activationBlock == 0);
  if (rowBegin >= rowEnd)
    return;
  int64_t blocks = cols / activationBlock;
  kernels.quantize(x + rowBegin * cols,
                   static_cast<QuantizedBlock *>(q) + rowBegin * blocks,
                   (rowEnd - rowBegin) * blocks);
}

int64_t cpu::linearScratchBytes(const LinearKernels &kernels,
                                const PackedWeight &weight) {
  return kernels.scratchBytes[int(weight.kind)](weight.inFeatures);
}

/// Into how many stretches of rows the work is cut before it is dealt out.
/// One, where the panels alone give every thread about the same; more for
/// narrow weights on many threads.
static int64_t rowStretches(int64_t panels, int64_t rows, int64_t threads) {
  constexpr int64_t panelsPerThread = 8, rowsPerStretch = 16;
  int64_t wanted = (panelsPerThread * threads + panels - 1) / panels;
  return std::clamp(rows / rowsPerStretch, int64_t(1), wanted);
}

/// Intel's cores have few lines on their way to the first cache at a time, and
/// so want them in the second one before. Of others only AMD's are measured.
static bool fetchesPastSecondCache() { return __builtin_cpu_is("amd"); }

void cpu::linear(const LinearKernels &kernels, const PackedWeight &weight,
                 const void *x, const float *bias, float *y, void *scratch,
                 int64_t rows, int64_t thread, int64_t threads) {
  assert(thread >= 0 && thread < threads);
  if (rows <= 0 || weight.outFeatures <= 0)
    return;
  // Work items in the order (stretch of rows, panel); each thread has a
  // contiguous range of them.
  int64_t panels = panelCount(weight.outFeatures);
  int64_t stretches = rowStretches(panels, rows, threads);
  int64_t items = panels * stretches;
  int64_t item = items * thread / threads;
  int64_t last = items * (thread + 1) / threads;
  while (item < last) {
    int64_t stretch = item / panels;
    LinearTask task;
    task.weight = weight;
    task.firstPanel = item % panels;
    task.lastPanel = std::min(panels, task.firstPanel + (last - item));
    task.x = x;
    task.bias = bias;
    task.y = y;
    task.scratch = scratch;
    task.firstRow = rows * stretch / stretches;
    task.lastRow = rows * (stretch + 1) / stretches;
    task.fetchesPastSecondCache = fetchesPastSecondCache();
    kernels.run[int(weight.kind)](task);
    item += task.lastPanel - task.firstPanel;
  }
}
