//===- MachineBench.cpp - what bounds a processor's kernels ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: machine-bench [--threads N] [--only read|int8|fma] [--isa NAME]
//
// One JSON object, of all three or of one: the rate at which the threads read
// memory, and for each instruction set that the kernels are built for and the
// processor has, or the one that is named, the rate of its products with all
// operands in registers: two operations for each product that is added up.
//
//   int8  of 8-bit integers into 32 bits: vpdpbusd where there is VNNI, else
//         vpmaddubsw, vpmaddwd and vpaddd
//   fma   of 32-bit floats
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/bench/Turns.h"

#include <cstdio>
#include <cstdlib>
#include <immintrin.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

using namespace sluice;
using namespace sluice::cpu;

namespace {

/// Products of a turn: so many rounds of `chains` independent sums, which hides
/// the instructions' latency.
constexpr int64_t rounds = 2'000'000;
constexpr int chains = 12;

// What a loop computes is written here, so that it is computed.
thread_local volatile float sink;

// The compiler may not know that operands stay the same.
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
      SLUICE_HIDE(a); // Else one product would serve all chains.
      __m256i words = _mm256_maddubs_epi16(a, b);
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(words, ones));
    }
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

/// The loops of an instruction set, and products of a vector.
struct Set {
  const char *name;
  void (*int8)();
  int64_t int8Products;
  void (*fma)();
  int64_t fmaProducts;
};

constexpr Set sets[] = {
    {"avx2", int8Avx2, 32, fmaAvx2, 8},
    {"avx512", int8Avx512, 64, fmaAvx512, 16},
    {"avx512vnni", int8Vnni, 64, fmaAvx512, 16},
};

/// Operations a second of all threads together.
double rate(int64_t threads, void (*loop)(), int64_t products) {
  double seconds =
      bench::timeTurns(threads, 0.5, [&](int64_t, int64_t) { loop(); });
  return 2.0 * double(threads * rounds * chains * products) / seconds;
}

struct Options {
  int64_t threads = 2;
  std::string_view only; ///< empty: all
  std::string_view isa;  ///< likewise
};

std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view name = argv[i];
    if (name == "--threads")
      options.threads = std::strtol(argv[i + 1], nullptr, 10);
    else if (name == "--only")
      options.only = argv[i + 1];
    else if (name == "--isa")
      options.isa = argv[i + 1];
    else
      return std::nullopt;
  }
  bool isKnown = options.only.empty() || options.only == "read" ||
                 options.only == "int8" || options.only == "fma";
  isKnown = isKnown && (options.isa.empty() || parseIsa(options.isa));
  if (argc % 2 == 0 || options.threads < 1 || !isKnown)
    return std::nullopt;
  return options;
}

} // namespace

int main(int argc, char **argv) {
  std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: machine-bench [--threads N] "
                         "[--only read|int8|fma] "
                         "[--isa avx2|avx512|avx512vnni]\n");
    return 2;
  }
  if (!options->isa.empty())
    if (Status s = requireIsa(options->isa); !s.ok()) {
      std::fprintf(stderr, "machine-bench: error: %s\n", s.message().c_str());
      return 2;
    }
  auto wants = [&](std::string_view what) {
    return options->only.empty() || options->only == what;
  };
  int64_t threads = options->threads;
  nlohmann::ordered_json found = {{"threads", threads}};
  if (wants("read"))
    found["read"] = bench::readBandwidth(threads);
  for (const Set &set : sets) {
    bool isWanted = options->isa.empty() || options->isa == set.name;
    if (!isWanted || !requireIsa(set.name).ok())
      continue;
    if (wants("int8"))
      found[set.name]["int8"] = rate(threads, set.int8, set.int8Products);
    if (wants("fma"))
      found[set.name]["fma"] = rate(threads, set.fma, set.fmaProducts);
  }
  std::printf("%s\n", found.dump().c_str());
  return 0;
}
