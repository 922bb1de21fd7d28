//===- AttentionBench.cpp - speed of the attention kernels ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints, for some shapes, each instruction set that the CPU has and each
// format of the cache, the time of one layer's attention on one thread and the
// arithmetic that it amounts to:
//
//   attention-bench
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/attention/AttentionUnits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

struct Case {
  const char *name;
  int64_t heads, kvHeads, headDim;
  int64_t context; ///< positions before the rows
  int64_t rows;
};

constexpr Case cases[] = {
    {"prefill 512, 32/4 x 64", 32, 4, 64, 0, 512},
    {"prefill 512, 32/8 x 128", 32, 8, 128, 0, 512},
    {"prefill 512, 12/12 x 64", 12, 12, 64, 0, 512},
    {"decode at 512, 32/4 x 64", 32, 4, 64, 511, 1},
    {"decode at 2048, 32/8 x 128", 32, 8, 128, 2047, 1},
    {"decode at 512, 12/12 x 64", 12, 12, 64, 511, 1},
    // Caches of 64, 48 and 48 MiB as f32, beyond what a core has near it.
    {"decode at 8192, 32/8 x 128", 32, 8, 128, 8191, 1},
    {"decode at 24576, 32/4 x 64", 32, 4, 64, 24575, 1},
    {"decode at 8192, 12/12 x 64", 12, 12, 64, 8191, 1},
};

void attendAll(const AttentionKernels &kernels, const Case &shape,
               const LayerCache &cache, const std::vector<int32_t> &pages,
               const std::vector<float> &q, std::vector<float> &out) {
  SluiceAttention params = {};
  params.heads = shape.heads;
  params.kvHeads = shape.kvHeads;
  params.headDim = shape.headDim;
  params.scale = 1 / std::sqrt(static_cast<float>(shape.headDim));
  std::vector<int32_t> positions(static_cast<size_t>(shape.rows));
  std::iota(positions.begin(), positions.end(),
            static_cast<int32_t>(shape.context));
  std::vector<float> scratch(
      attentionScratchFloats(shape.headDim, cache.layout().format));
  std::vector<RowRun> runs = {{0, shape.rows}};
  AttentionUnits units(runs, params, 1);
  for (int64_t number = 0; number < units.count(); ++number) {
    UnitPlace place = units.place(number);
    int64_t first = place.rowBegin * shape.heads * shape.headDim;
    AttentionUnit unit = {};
    unit.params = &params;
    setCache(unit, cache, place.kvHead);
    unit.pages = pages.data();
    unit.positions = positions.data() + place.rowBegin;
    unit.rows = place.rows;
    unit.headBegin = place.headBegin;
    unit.headCount = place.headCount;
    unit.q = q.data() + first;
    unit.out = out.data() + first;
    kernels.attend(unit, scratch.data());
  }
}

void measure(Isa isa, const Case &shape, CacheFormat format) {
  int64_t tokens = shape.context + shape.rows;
  int64_t pageCount = CachePages::pagesFor(tokens);
  Expected<LayerCache> cache =
      LayerCache::create({shape.kvHeads, shape.headDim}, format, pageCount);
  if (!cache) {
    std::fprintf(stderr, "%s\n", cache.status().message().c_str());
    return;
  }
  std::vector<float> q(shape.rows * shape.heads * shape.headDim);
  for (size_t i = 0; i < q.size(); ++i)
    q[i] = std::sin(static_cast<float>(i));
  std::vector<float> out(q.size());
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t head = 0; head < shape.kvHeads; ++head) {
      const float *row = q.data() + (t + head) * 7 % (q.size() / 2);
      cache->store(t / CachePages::pageTokens, t % CachePages::pageTokens, head,
                   row, row);
    }
  std::vector<int32_t> pages(pageCount);
  std::iota(pages.begin(), pages.end(), 0);

  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    Clock::time_point start = Clock::now();
    attendAll(attentionKernels(isa), shape, *cache, pages, q, out);
    best = std::min(
        best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  // Each visible token costs a multiplication and an addition for each
  // dimension, once for its key and once for its value.
  double visible = static_cast<double>(shape.rows) *
                   (static_cast<double>(shape.context) +
                    static_cast<double>(shape.rows + 1) / 2);
  double flops = 4 * visible * static_cast<double>(shape.heads * shape.headDim);
  std::printf("%-28s %-8s %-5s %9.1f us %7.1f GFLOP/s\n", shape.name,
              isaName(isa).data(), cacheFormatName(format).data(), best * 1e6,
              flops / best * 1e-9);
}

} // namespace

int main() {
  for (const Case &shape : cases)
    for (Isa isa : {Isa::Avx2, Isa::Avx512})
      if (requireIsa(isaName(isa)).ok())
        for (CacheFormat format : {CacheFormat::F32, CacheFormat::Q8_0})
          measure(isa, shape, format);
  return 0;
}
