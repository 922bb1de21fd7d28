//===- LinearBench.cpp - times the linear kernels -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: linear-bench [--isa NAME] [--threads N] [--out N] [--in N]
//                     [--formats a,b,...] [--rows 1,2,...] [--seconds S]
//                     [--cached]
//
// Times products of random weights, by default those of a feed-forward layer of
// a model of 1.1 billion parameters. There are so many copies of the weight
// that none is in a cache when it is used again, as in a model; with --cached
// there is one copy, which the caches keep if it is small enough. Prints the
// rate at which weights are read and that of operations (two for each weight
// and row), next to the rate at which the machine reads memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OptionChecks.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/bench/IsaOption.h"
#include "runtime/device/cpu/bench/Turns.h"
#include "runtime/device/cpu/linear/Linear.h"
#include "runtime/device/cpu/linear/test/RandomMatrices.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::cpu::bench;

namespace {

struct Options {
  std::string isa;
  int64_t threads = 2;
  int64_t outFeatures = 5632;
  int64_t inFeatures = 2048;
  double seconds = 0.5;
  bool cached = false;
  std::vector<std::string> formats = {"q4_0", "q8_0", "q4_1", "q5_0",
                                      "q5_1", "q4_k", "q5_k", "q6_k",
                                      "e4m3", "f16",  "bf16", "f32"};
  std::vector<int64_t> rows = {1, 2, 4, 8, 16, 64, 512};
};

void benchFormat(const Options &options, const LinearKernels &kernels,
                 Format format) {
  LinearSpec spec = {options.outFeatures, options.inFeatures, format, format,
                     false};
  std::optional<uint64_t> size = packedBytes(spec);
  if (!size) {
    std::printf("%-6s cannot be packed at this size\n",
                std::string(formatInfo(format).name).c_str());
    return;
  }
  // The numbers have the size of real weights: subnormal numbers would be
  // slower on some processors.
  std::mt19937 random(1);
  std::vector<uint8_t> stored = randomStored(random, spec);
  int64_t copies = options.cached ? 1 : int64_t(coldBytes / *size + 1);
  AlignedBytes packed = makeBytes(size_t(copies) * *size);
  for (int64_t copy = 0; copy < copies; ++copy)
    packPanels(spec, stored.data(), packed.get() + uint64_t(copy) * *size, 0,
               panelCount(spec.outFeatures));
  int64_t max = *std::max_element(options.rows.begin(), options.rows.end());
  std::vector<float> x(size_t(max * spec.inFeatures));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 7 % 101) - 50) / 50;
  std::vector<QuantizedBlock> blocks;
  if (takesQuantizedRows(packedWeight(spec, packed.get()).kind)) {
    blocks.resize(x.size() / activationBlock);
    quantizeRows(kernels, x.data(), blocks.data(), spec.inFeatures, 0, max);
  }
  std::vector<float> y(size_t(max * spec.outFeatures));
  std::vector<AlignedBytes> scratch;
  for (int64_t thread = 0; thread < options.threads; ++thread)
    scratch.push_back(makeBytes(
        size_t(linearScratchBytes(kernels, packedWeight(spec, packed.get())))));

  std::printf("%-6s", std::string(formatInfo(format).name).c_str());
  for (int64_t rows : options.rows) {
    Tickets tickets;
    double seconds = timeTurns(
        options.threads, options.seconds, [&](int64_t thread, int64_t turn) {
          PackedWeight weight = packedWeight(
              spec, packed.get() + uint64_t(turn % copies) * *size);
          const void *input = takesQuantizedRows(weight.kind)
                                  ? static_cast<const void *>(blocks.data())
                                  : x.data();
          linear(kernels, weight, input, nullptr, y.data(), rows,
                 {thread, options.threads, scratch[size_t(thread)].get(),
                  tickets, uint32_t(turn)});
        });
    double operations =
        2.0 * double(rows * spec.outFeatures) * double(spec.inFeatures);
    std::printf("  %5.1f/%-5.0f", double(*size) / seconds / 1e9,
                operations / seconds / 1e9);
    std::fflush(stdout);
  }
  std::printf("\n");
}

CLI::Validator knownFormat() {
  return CLI::Validator(
      [](std::string &text) {
        return parseFormat(text) ? std::string() : "no format '" + text + "'";
      },
      "");
}

void addOptions(CLI::App &app, Options &options) {
  constexpr int64_t largest = 1 << 20;
  app.add_option("--isa", options.isa, "avx2, avx512 or avx512vnni")
      ->check(usableIsa());
  app.add_option("--threads", options.threads)
      ->check(within<int64_t>(1, maxThreads));
  app.add_option("--out", options.outFeatures, "Columns")
      ->check(within<int64_t>(1, largest));
  app.add_option("--in", options.inFeatures, "Features")
      ->check(within<int64_t>(1, largest));
  app.add_option("--formats", options.formats)
      ->delimiter(',')
      ->check(knownFormat());
  app.add_option("--rows", options.rows)
      ->delimiter(',')
      ->check(within<int64_t>(1, largest));
  app.add_option("--seconds", options.seconds, "For each number of rows")
      ->check(within(0.0, 3600.0));
  app.add_flag("--cached", options.cached, "One weight, again and again");
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (std::optional<Isa> best = bestIsa(detectFeatures()))
    options.isa = isaName(*best);
  CLI::App app("How fast the linear kernels are", "linear-bench");
  addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  const LinearKernels *kernels = linearKernels(options.isa);
  if (!kernels) {
    std::fprintf(stderr, "linear-bench: error: %s\n",
                 requireIsa("avx2").message().c_str());
    return 1;
  }
  std::printf("memory read, %d threads: %.1f GB/s\n", int(options.threads),
              readBandwidth(options.threads) / 1e9);
  std::printf("%s, %d x %d, GB/s of weights / Gop/s\nrows  ", kernels->name,
              int(options.outFeatures), int(options.inFeatures));
  for (int64_t rows : options.rows)
    std::printf("  %5d      ", int(rows));
  std::printf("\n");
  try {
    for (const std::string &name : options.formats)
      benchFormat(options, *kernels, *parseFormat(name));
  } catch (const std::bad_alloc &) {
    std::fflush(stdout);
    std::fprintf(stderr, "linear-bench: error: not enough memory for so many "
                         "features and rows\n");
    return 1;
  }
  return 0;
}
