//===- MachineBench.cpp - the limits of a processor's kernels -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: machine-bench [--threads N] [--only read|int8|int4|fma] [--isa NAME]
//
// Prints one JSON object with all four rates or one of them: the rate at which
// the threads read memory, and the rates of products with all operands in
// registers, at two operations for each product that is added up. The latter
// are measured for each instruction set that the kernels are built for and the
// processor has, or for the named one.
//
//   int8  8-bit integers into 32 bits: vpdpbusd with VNNI, else vpmaddubsw,
//         vpmaddwd and vpaddd
//   int4  4-bit by 8-bit integers: likewise with VNNI; else vpmaddubsw and
//         vpaddw, and the other two once for 16 products a lane, whose sum fits
//         16 bits
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OptionChecks.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/bench/IsaOption.h"
#include "runtime/device/cpu/bench/Turns.h"

#include <cstdio>
#include <immintrin.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

using namespace sluice;
using namespace sluice::cpu;

namespace {

/// Products of a turn: `rounds` times `chains` independent sums, which hide the
/// latency of the instructions.
constexpr int64_t rounds = 2'000'000;
constexpr int chains = 12;
/// Products of 4-bit integers that are added in 16 bits.
constexpr int wordProducts = 8;

// Results are written here, so that the compiler does not remove the loops.
thread_local volatile float sink;

// The loops differ only in the order that is fastest for each: with one
// template for int8 and int4, one of them ran at 0.87 or the other at 0.97 of
// its speed.

// Hides from the compiler that operands stay the same.
#define SLUICE_HIDE(value) asm volatile("" : "+x"(value))
#define SLUICE_HIDE_WIDE(value) asm volatile("" : "+v"(value))

__attribute__((target("avx2,fma"))) void fmaAvx2() {
  __m256 sums[chains] = {}, a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (int64_t i = 0; i < rounds; ++i) {
    SLUICE_HIDE(a);
#pragma unroll
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm256_fmadd_ps(a, b, sums[c]);
  }
  for (__m256 sum : sums)
    sink = sum[0];
}

__attribute__((target("avx2"))) void int8Avx2() {
  __m256i sums[chains] = {}, a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma unroll
    for (int c = 0; c < chains; ++c) {
      SLUICE_HIDE(a); // Otherwise one product would serve all chains.
      __m256i words = _mm256_maddubs_epi16(a, b);
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(words, ones));
    }
  }
  for (__m256i sum : sums)
    sink = float(sum[0]);
}

__attribute__((target("avx2"))) void int4Avx2() {
  __m256i sums[chains] = {}, a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < rounds / wordProducts; ++i) {
    __m256i words[chains] = {};
#pragma unroll
    for (int j = 0; j < wordProducts; ++j)
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        SLUICE_HIDE(a);
        words[c] = _mm256_add_epi16(words[c], _mm256_maddubs_epi16(a, b));
      }
#pragma unroll
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(words[c], ones));
  }
  for (__m256i sum : sums)
    sink = float(sum[0]);
}

__attribute__((target("avx512f"))) void fmaAvx512() {
  __m512 sums[chains] = {}, a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (int64_t i = 0; i < rounds; ++i) {
    SLUICE_HIDE_WIDE(a);
#pragma unroll
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_fmadd_ps(a, b, sums[c]);
  }
  for (__m512 sum : sums)
    sink = sum[0];
}

__attribute__((target("avx512f,avx512bw"))) void int8Avx512() {
  __m512i sums[chains] = {}, a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  __m512i ones = _mm512_set1_epi16(1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma unroll
    for (int c = 0; c < chains; ++c) {
      SLUICE_HIDE_WIDE(a);
      __m512i words = _mm512_maddubs_epi16(a, b);
      sums[c] = _mm512_add_epi32(sums[c], _mm512_madd_epi16(words, ones));
    }
  }
  for (__m512i sum : sums)
    sink = float(sum[0]);
}

__attribute__((target("avx512f,avx512bw"))) void int4Avx512() {
  __m512i sums[chains] = {}, a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  __m512i ones = _mm512_set1_epi16(1);
  for (int64_t i = 0; i < rounds / wordProducts; ++i) {
    __m512i words[chains] = {};
#pragma unroll
    for (int j = 0; j < wordProducts; ++j)
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        SLUICE_HIDE_WIDE(a);
        words[c] = _mm512_add_epi16(words[c], _mm512_maddubs_epi16(a, b));
      }
#pragma unroll
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_add_epi32(sums[c], _mm512_madd_epi16(words[c], ones));
  }
  for (__m512i sum : sums)
    sink = float(sum[0]);
}

__attribute__((target("avx512f,avx512vnni"))) void int8Vnni() {
  __m512i sums[chains] = {}, a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int64_t i = 0; i < rounds; ++i) {
    SLUICE_HIDE_WIDE(a);
#pragma unroll
    for (int c = 0; c < chains; ++c)
      sums[c] = _mm512_dpbusd_epi32(sums[c], a, b);
  }
  for (__m512i sum : sums)
    sink = float(sum[0]);
}

/// A loop for an instruction set, and the products of one of its vectors.
struct Loop {
  const char *isa;
  const char *unit;
  void (*run)();
  int64_t products;
};

constexpr Loop loops[] = {
    {"avx2", "int8", int8Avx2, 32},       {"avx2", "int4", int4Avx2, 32},
    {"avx2", "fma", fmaAvx2, 8},          {"avx512", "int8", int8Avx512, 64},
    {"avx512", "int4", int4Avx512, 64},   {"avx512", "fma", fmaAvx512, 16},
    {"avx512vnni", "int8", int8Vnni, 64}, {"avx512vnni", "int4", int8Vnni, 64},
    {"avx512vnni", "fma", fmaAvx512, 16},
};

/// Returns the operations a second of all threads together.
double rate(int64_t threads, const Loop &loop) {
  double seconds =
      bench::timeTurns(threads, 0.5, [&](int64_t, int64_t) { loop.run(); });
  return 2.0 * double(threads * rounds * chains * loop.products) / seconds;
}

struct Options {
  int64_t threads = 2;
  std::string only; ///< empty for all
  std::string isa;  ///< likewise
};

void addOptions(CLI::App &app, Options &options) {
  app.add_option("--threads", options.threads)
      ->check(within<int64_t>(1, maxThreads));
  app.add_option("--only", options.only)
      ->check(CLI::IsMember({"read", "int8", "int4", "fma"}));
  app.add_option("--isa", options.isa, "avx2, avx512 or avx512vnni")
      ->check(bench::usableIsa());
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("What bounds the kernels of this processor", "machine-bench");
  addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  auto wants = [&](std::string_view what) {
    return options.only.empty() || options.only == what;
  };
  nlohmann::ordered_json found = {{"threads", options.threads}};
  if (wants("read"))
    found["read"] = bench::readBandwidth(options.threads);
  for (const Loop &loop : loops)
    if (wants(loop.unit) && (options.isa.empty() || options.isa == loop.isa) &&
        requireIsa(loop.isa).ok())
      found[loop.isa][loop.unit] = rate(options.threads, loop);
  std::printf("%s\n", found.dump().c_str());
  return 0;
}
