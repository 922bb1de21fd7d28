//===- LinearBench.cpp - how fast the linear kernels are ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: linear-bench [--isa NAME] [--threads N] [--out N] [--in N]
//                     [--formats a,b,...] [--rows 1,2,...] [--seconds S]
//
// Times products of random weights, by default of a feed-forward layer of a
// model of 1.1 billion parameters, with so many copies of the weight that none
// is in a cache when its turn comes, as in a model. Prints the rate at which
// weights are read and operations (two a weight and row) are done, next to the
// rate at which the machine reads memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/bench/Turns.h"
#include "runtime/device/cpu/linear/Linear.h"
#include "runtime/device/cpu/linear/test/RandomWeights.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::cpu::bench;

namespace {

struct Options {
  std::string isa; // empty: the best that the processor has
  int64_t threads = 2;
  int64_t outFeatures = 5632;
  int64_t inFeatures = 2048;
  double seconds = 0.5;
  std::string formats = "q4_0,q8_0,q4_1,q5_1,q4_k,q5_k,q6_k,e4m3,f16,bf16,f32";
  std::string rows = "1,2,4,8,16,64,512";
};

void benchFormat(const Options &options, const LinearKernels &kernels,
                 Format format, const std::vector<int64_t> &rowCounts) {
  LinearSpec spec = {options.outFeatures, options.inFeatures, format, format,
                     false};
  std::optional<uint64_t> size = packedBytes(spec);
  if (!size) {
    std::printf("%-6s cannot be packed at this size\n",
                std::string(formatInfo(format).name).c_str());
    return;
  }
  // Of the size that weights have: numbers too small for their exponent would
  // be slower on some processors.
  std::mt19937 random(1);
  std::vector<uint8_t> stored = randomStored(random, spec);
  auto copies = int64_t(coldBytes / *size + 1);
  Bytes packed = makeBytes(size_t(copies) * *size);
  for (int64_t copy = 0; copy < copies; ++copy)
    packPanels(spec, stored.data(), packed.get() + uint64_t(copy) * *size, 0,
               panelCount(spec.outFeatures));
  int64_t most = *std::max_element(rowCounts.begin(), rowCounts.end());
  std::vector<float> x(size_t(most * spec.inFeatures));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 7 % 101) - 50) / 50;
  std::vector<QuantizedBlock> blocks(x.size() / activationBlock + 1);
  quantizeRows(kernels, x.data(), blocks.data(), spec.inFeatures, 0, most);
  std::vector<float> y(size_t(most * spec.outFeatures));
  std::vector<Bytes> scratch;
  for (int64_t thread = 0; thread < options.threads; ++thread)
    scratch.push_back(makeBytes(
        size_t(linearScratchBytes(kernels, packedWeight(spec, packed.get())))));

  std::printf("%-6s", std::string(formatInfo(format).name).c_str());
  for (int64_t rows : rowCounts) {
    double seconds = timeTurns(
        options.threads, options.seconds, [&](int64_t thread, int64_t turn) {
          PackedWeight weight = packedWeight(
              spec, packed.get() + uint64_t(turn % copies) * *size);
          const void *input = takesQuantizedRows(weight.kind)
                                  ? static_cast<const void *>(blocks.data())
                                  : x.data();
          linear(kernels, weight, input, nullptr, y.data(),
                 scratch[size_t(thread)].get(), rows, thread, options.threads);
        });
    double operations =
        2.0 * double(rows * spec.outFeatures) * double(spec.inFeatures);
    std::printf("  %5.1f/%-5.0f", double(*size) / seconds / 1e9,
                operations / seconds / 1e9);
    std::fflush(stdout);
  }
  std::printf("\n");
}

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  std::stringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

bool parseOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view name = argv[i];
    const char *value = argv[i + 1];
    if (name == "--isa")
      options.isa = value;
    else if (name == "--threads")
      options.threads = std::max(1L, std::strtol(value, nullptr, 10));
    else if (name == "--out")
      options.outFeatures = std::strtol(value, nullptr, 10);
    else if (name == "--in")
      options.inFeatures = std::strtol(value, nullptr, 10);
    else if (name == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else if (name == "--formats")
      options.formats = value;
    else if (name == "--rows")
      options.rows = value;
    else
      return false;
  }
  return argc % 2 == 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  bool understood = parseOptions(argc, argv, options);
  if (std::optional<Isa> best = bestIsa(detectFeatures());
      best && options.isa.empty())
    options.isa = isaName(*best);
  const LinearKernels *kernels = linearKernels(options.isa);
  if (!understood || !kernels) {
    std::fprintf(stderr, "usage: linear-bench [--isa avx2|avx512|avx512vnni] "
                         "[--threads N] [--out N] [--in N] [--formats a,b] "
                         "[--rows 1,2] [--seconds S]\n");
    return 2;
  }
  if (Status s = requireIsa(options.isa); !s.ok()) {
    std::fprintf(stderr, "linear-bench: error: %s\n", s.message().c_str());
    return 2;
  }
  std::vector<int64_t> rowCounts;
  for (const std::string &rows : split(options.rows))
    rowCounts.push_back(std::max(1L, std::strtol(rows.c_str(), nullptr, 10)));
  std::printf("memory read, %d threads: %.1f GB/s\n", int(options.threads),
              readBandwidth(options.threads) / 1e9);
  std::printf("%s, %d x %d, GB/s of weights / Gop/s\nrows  ", kernels->name,
              int(options.outFeatures), int(options.inFeatures));
  for (int64_t rows : rowCounts)
    std::printf("  %5d      ", int(rows));
  std::printf("\n");
  for (const std::string &name : split(options.formats))
    if (std::optional<Format> format = parseFormat(name))
      benchFormat(options, *kernels, *format, rowCounts);
    else
      std::fprintf(stderr, "no format '%s'\n", name.c_str());
  return 0;
}
