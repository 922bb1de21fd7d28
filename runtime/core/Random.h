//===- Random.h - random numbers keyed by seed and position ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC'11) turns a key and a counter into four words of random bits.
// It has no state: the same key and counter give the same bits in any order of
// calls and on any machine.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_RANDOM_H
#define SLUICE_RUNTIME_CORE_RANDOM_H

#include <array>
#include <cstdint>

namespace sluice {

/// Returns the four random words at `counter` under `key`.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// Returns the random words that the sampler uses for the tokens 4*group ..
/// 4*group+3 at `position` of a request with `seed`.
constexpr std::array<uint32_t, 4> tokenNoise(uint64_t seed, int64_t position,
                                             uint32_t group) {
  uint64_t place = static_cast<uint64_t>(position);
  return philox(
      {group, static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32),
       0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_RANDOM_H
