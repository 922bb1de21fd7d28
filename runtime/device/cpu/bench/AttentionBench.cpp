//===- AttentionBench.cpp - speed of the attention kernels ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the median time of one layer's attention on one thread, and the rate
// of its operations, for several shapes, each instruction set that the CPU has
// and each format of the cache:
//
//   attention-bench
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/attention/AttentionUnits.h"
#include "runtime/device/cpu/bench/Turns.h"

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
    // The caches of 64, 48 and 48 MiB as f32 exceed those near a core.
    {"decode at 8192, 32/8 x 128", 32, 8, 128, 8191, 1},
    {"decode at 24576, 32/4 x 64", 32, 4, 64, 24575, 1},
    {"decode at 8192, 12/12 x 64", 12, 12, 64, 8191, 1},
};

/// The inputs and the output of a layer's attention, except for its cache.
struct Layer {
  SluiceAttention params = {};
  std::vector<int32_t> positions, pages;
  std::vector<float> q, out;
  bench::AlignedBytes scratch;

  Layer(const Case &shape, CacheFormat format)
      : positions(size_t(shape.rows)),
        pages(size_t(CachePages::pagesFor(shape.context + shape.rows))),
        q(size_t(shape.rows * shape.heads * shape.headDim)), out(q.size()),
        scratch(bench::makeBytes(
            size_t(attentionScratchFloats(shape.headDim, format)) *
            sizeof(float))) {
    params.heads = shape.heads;
    params.kvHeads = shape.kvHeads;
    params.headDim = shape.headDim;
    params.scale = 1 / std::sqrt(static_cast<float>(shape.headDim));
    std::iota(positions.begin(), positions.end(),
              static_cast<int32_t>(shape.context));
    std::iota(pages.begin(), pages.end(), 0);
    for (size_t i = 0; i < q.size(); ++i)
      q[i] = std::sin(static_cast<float>(i));
  }
};

void fill(LayerCache &cache, const Layer &layer) {
  int64_t tokens = layer.positions.back() + 1;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t head = 0; head < layer.params.kvHeads; ++head) {
      const float *row = layer.q.data() + (t + head) * 7 % (layer.q.size() / 2);
      cache.store(t / CachePages::pageTokens, t % CachePages::pageTokens, head,
                  row, row);
    }
}

void attendAll(const AttentionKernels &kernels, const LayerCache &cache,
               AttentionUnits &units, Layer &layer) {
  for (int64_t number = 0; number < units.count(); ++number) {
    UnitPlace place = units.place(number);
    int64_t first = place.rowBegin * layer.params.heads * layer.params.headDim;
    AttentionUnit unit = {};
    unit.params = &layer.params;
    setCache(unit, cache, place.kvHead);
    unit.pages = layer.pages.data();
    unit.positions = layer.positions.data() + place.rowBegin;
    unit.rows = place.rows;
    unit.headBegin = place.headBegin;
    unit.headCount = place.headCount;
    unit.q = layer.q.data() + first;
    unit.out = layer.out.data() + first;
    kernels.attend(unit, reinterpret_cast<float *>(layer.scratch.get()));
  }
}

void measure(Isa isa, const Case &shape, CacheFormat format) {
  Layer layer(shape, format);
  Expected<LayerCache> cache = LayerCache::create(
      {shape.kvHeads, shape.headDim}, format, int64_t(layer.pages.size()));
  if (!cache) {
    std::fprintf(stderr, "%s\n", cache.status().message().c_str());
    return;
  }
  fill(*cache, layer);
  std::vector<RowRun> runs = {{0, shape.rows}};
  AttentionUnits units(runs, layer.params, 1);
  double seconds = bench::timeTurns(1, 0.2, [&](int64_t, int64_t) {
    attendAll(attentionKernels(isa), *cache, units, layer);
  });
  // Each visible token costs a multiplication and an addition for each
  // dimension, once for its key and once for its value.
  double visible = static_cast<double>(shape.rows) *
                   (static_cast<double>(shape.context) +
                    static_cast<double>(shape.rows + 1) / 2);
  double flops = 4 * visible * static_cast<double>(shape.heads * shape.headDim);
  std::printf("%-28s %-8s %-5s %9.1f us %7.1f GFLOP/s\n", shape.name,
              isaName(isa).data(), cacheFormatName(format).data(),
              seconds * 1e6, flops / seconds * 1e-9);
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
