//===- LinearDispatch.cpp - divides products among threads ----------------===//
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

/// Returns into how many ranges of rows the work is cut before it is divided
/// among threads. It is one if the panels alone give every thread about the
/// same work, and more for narrow weights on many threads.
static int64_t rowStretches(int64_t panels, int64_t rows, int64_t threads) {
  constexpr int64_t panelsPerThread = 8, rowsPerStretch = 16;
  int64_t wanted = (panelsPerThread * threads + panels - 1) / panels;
  return std::clamp(rows / rowsPerStretch, int64_t(1), wanted);
}

/// Returns whether weights bypass the second cache. Intel's cores have few
/// lines in flight to the first cache at a time, and so need them in the second
/// cache before. Of other processors only AMD's are measured.
static bool fetchesPastSecondCache() { return __builtin_cpu_is("amd"); }

namespace {

/// How a product is cut into items, and which threads compute them. Items are
/// in the order (range of rows, panel).
struct Deal {
  int64_t stretches, items;
  /// Items that belong to a thread from the start, in a contiguous range each.
  int64_t own;
  /// How many of the other items go by one ticket, to the next thread that is
  /// free, since memory does not serve all threads equally fast.
  int64_t perTicket;

  int64_t tickets() const { return (items - own + perTicket - 1) / perTicket; }
};

} // namespace

static Deal dealOut(const LinearKernels &kernels, const PackedWeight &weight,
                    int64_t rows, int64_t threads) {
  constexpr int64_t sharedOneIn = 4;
  // With fewer tickets, the wait for the last one would be as long as the wait
  // for the slowest thread without tickets. More or smaller tickets cost more
  // than they save, since the first weights of a ticket are not prefetched.
  constexpr int64_t wantedPerThread = 8, minPerThread = 4;
  constexpr int64_t minBytes = 32768;
  int64_t panels = panelCount(weight.outFeatures);
  Deal deal;
  deal.stretches = rowStretches(panels, rows, threads);
  deal.items = panels * deal.stretches;
  deal.own = deal.items;
  int64_t shared = deal.items / sharedOneIn;
  int64_t wanted =
      std::max(shared / (wantedPerThread * threads),
               int64_t((minBytes + weight.panelBytes - 1) / weight.panelBytes));
  // Both the own items and the tickets are multiples of what is computed at
  // once.
  int64_t atOnce =
      kernels.panelsAtOnce[int(weight.kind)](rows / deal.stretches);
  deal.perTicket = (wanted + atOnce - 1) / atOnce * atOnce;
  if (threads > 1 && shared >= minPerThread * threads * deal.perTicket)
    deal.own -= shared + (deal.items - shared) % (threads * atOnce);
  return deal;
}

void cpu::linear(const LinearKernels &kernels, const PackedWeight &weight,
                 const void *x, const float *bias, float *y, int64_t rows,
                 const LinearShare &share) {
  assert(share.thread >= 0 && share.thread < share.threads);
  if (rows <= 0 || weight.outFeatures <= 0)
    return;
  int64_t panels = panelCount(weight.outFeatures);
  Deal deal = dealOut(kernels, weight, rows, share.threads);
  LinearTask task;
  task.weight = weight;
  task.x = x;
  task.bias = bias;
  task.y = y;
  task.scratch = share.scratch;
  task.fetchesPastSecondCache = fetchesPastSecondCache();
  auto compute = [&](int64_t item, int64_t last) {
    while (item < last) {
      int64_t stretch = item / panels;
      task.firstPanel = item % panels;
      task.lastPanel = std::min(panels, task.firstPanel + (last - item));
      task.firstRow = rows * stretch / deal.stretches;
      task.lastRow = rows * (stretch + 1) / deal.stretches;
      kernels.run[int(weight.kind)](task);
      item += task.lastPanel - task.firstPanel;
    }
  };
  compute(deal.own * share.thread / share.threads,
          deal.own * (share.thread + 1) / share.threads);
  int64_t ticket;
  while ((ticket = share.tickets.take(share.loop, deal.tickets())) !=
         Tickets::none) {
    int64_t first = deal.own + ticket * deal.perTicket;
    compute(first, std::min(deal.items, first + deal.perTicket));
  }
}
