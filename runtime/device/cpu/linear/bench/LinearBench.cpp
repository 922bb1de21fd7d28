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

#include "runtime/device/cpu/linear/Linear.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

struct Options {
  std::string isa = "avx512vnni";
  int64_t threads = 2;
  int64_t outFeatures = 5632;
  int64_t inFeatures = 2048;
  double seconds = 0.5;
  std::string formats = "q4_0,q8_0,q4_1,q5_1,q4_k,q5_k,q6_k,e4m3,f16,bf16,f32";
  std::string rows = "1,2,4,8,16,64,512";
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Bytes to read before the caches hold nothing of the first.
constexpr size_t coldBytes = size_t(256) << 20;

/// Calls `body(thread, turn)` for turns 0, 1, ... on all threads, which start
/// each turn together, for about `seconds`; the median seconds of a turn.
double timeTurns(int64_t threads, double seconds,
                 const std::function<void(int64_t, int64_t)> &body) {
  std::vector<double> times;
  std::atomic<bool> stop = false;
  Clock::time_point begin = Clock::now(), start = begin;
  int64_t turns = -2; // The first ones warm up.
  auto onTurn = [&]() noexcept {
    if (turns > 0)
      times.push_back(secondsSince(start));
    ++turns;
    stop = times.size() >= 5 && secondsSince(begin) > seconds;
    start = Clock::now();
  };
  std::barrier gate(threads, onTurn);
  std::vector<std::thread> workers;
  for (int64_t thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      for (int64_t turn = 0;; ++turn) {
        gate.arrive_and_wait();
        if (stop)
          return;
        body(thread, turn);
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  std::nth_element(times.begin(), times.begin() + int64_t(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

struct Aligned {
  void operator()(uint8_t *p) const { std::free(p); }
};
using Bytes = std::unique_ptr<uint8_t, Aligned>;

/// `size` bytes, each written once.
Bytes makeBytes(size_t size) {
  size_t rounded = (size + 63) / 64 * 64;
  Bytes bytes(static_cast<uint8_t *>(std::aligned_alloc(64, rounded)));
  uint32_t state = 1;
  for (size_t i = 0; i < rounded; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.get()[i] = uint8_t(state >> 24);
  }
  return bytes;
}

/// Bytes a second that `threads` threads read from memory, summing words.
double readBandwidth(int64_t threads) {
  Bytes bytes = makeBytes(coldBytes);
  auto share = int64_t(coldBytes) / threads / 64 * 64;
  std::atomic<uint64_t> sink = 0;
  double seconds = timeTurns(threads, 1, [&](int64_t thread, int64_t) {
    const uint8_t *from = bytes.get() + thread * share;
    uint64_t sums[8] = {};
    for (int64_t i = 0; i < share; i += 64) {
      uint64_t words[8];
      std::memcpy(words, from + i, sizeof(words));
      for (int j = 0; j < 8; ++j)
        sums[j] += words[j];
    }
    for (uint64_t sum : sums)
      sink += sum;
  });
  return double(share * threads) / seconds;
}

/// Valid packed bytes of any kind: a packed weight of zeros but for noise in
/// the first block, which decides nothing about speed.
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
  Bytes stored = makeBytes(storedBytes(spec).value_or(0));
  auto copies = int64_t(coldBytes / *size + 1);
  Bytes packed = makeBytes(size_t(copies) * *size);
  for (int64_t copy = 0; copy < copies; ++copy)
    packPanels(spec, stored.get(), packed.get() + uint64_t(copy) * *size, 0,
               panelCount(spec.outFeatures));
  int64_t most = *std::max_element(rowCounts.begin(), rowCounts.end());
  std::vector<float> x(size_t(most * spec.inFeatures));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 7 % 101) - 50) / 50;
  std::vector<QuantizedBlock> blocks(x.size() / activationBlock + 1);
  quantizeRows(kernels, x.data(), blocks.data(), spec.inFeatures, 0, most);
  std::vector<float> y(size_t(most * spec.outFeatures));

  std::printf("%-6s", std::string(formatInfo(format).name).c_str());
  for (int64_t rows : rowCounts) {
    double seconds = timeTurns(
        options.threads, options.seconds, [&](int64_t thread, int64_t turn) {
          PackedWeight weight = packedWeight(
              spec, packed.get() + uint64_t(turn % copies) * *size);
          const void *input = takesQuantizedRows(weight.kind)
                                  ? static_cast<const void *>(blocks.data())
                                  : x.data();
          linear(kernels, weight, input, nullptr, y.data(), rows, thread,
                 options.threads);
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
  const LinearKernels *kernels =
      parseOptions(argc, argv, options) ? linearKernels(options.isa) : nullptr;
  if (!kernels) {
    std::fprintf(stderr, "usage: linear-bench [--isa avx2|avx512|avx512vnni] "
                         "[--threads N] [--out N] [--in N] [--formats a,b] "
                         "[--rows 1,2] [--seconds S]\n");
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
