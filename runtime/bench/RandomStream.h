//===- RandomStream.h - portable random numbers ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers that are the same on every machine. The standard library's
// distributions and its logarithm differ between libraries. These use Philox
// (runtime/core/Random.h) and only operations that IEEE 754 rounds in the same
// way everywhere: + - * / and sqrt.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_RANDOMSTREAM_H
#define SLUICE_RUNTIME_BENCH_RANDOMSTREAM_H

#include <array>
#include <cstdint>

namespace sluice::bench {

/// The natural logarithm of a positive, normal number, within 4 units in the
/// last place.
double portableLog(double x);

/// e to the power of `x`, for x from -700 to 700; relative error below 1e-13.
double portableExp(double x);

/// The purposes of random numbers; each has numbers of its own.
enum class Purpose : uint32_t {
  ArrivalGap = 1,
  PromptLength,
  OutputLength,
  PromptTokens,
  SharedPrefix,
  RequestSeed,
};

/// The random numbers for one purpose of one request. They depend on `seed`,
/// `purpose` and `index` only, so a request does not change with the number of
/// requests.
class RandomStream {
public:
  RandomStream(uint64_t seed, Purpose purpose, uint64_t index)
      : seed(seed), purpose(purpose), index(index) {}

  uint32_t next32();
  uint64_t next64();
  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit();
  /// Uniform among the integers from `low` to `high`.
  int64_t whole(int64_t low, int64_t high);
  /// Mean 0, standard deviation 1 (Marsaglia's polar method).
  double normal();
  /// Mean 1.
  double exponential();
  /// Mean and variance `shape` (Marsaglia and Tsang, 2000); shape > 0.
  double gamma(double shape);

private:
  uint64_t seed;
  Purpose purpose;
  uint64_t index;
  uint32_t block = 0; ///< block of four words
  int used = 4;
  std::array<uint32_t, 4> words{};
};

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_RANDOMSTREAM_H
