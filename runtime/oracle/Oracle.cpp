//===- Oracle.cpp - models without weights --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/oracle/Oracle.h"

#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>

using namespace sluice;

/// One round of SplitMix64 (Steele, Lea, Flood, OOPSLA'14).
static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

PathKey &PathKey::add(int32_t token) {
  hash = mix(hash ^ static_cast<uint32_t>(token));
  return *this;
}

PathKey &PathKey::add(std::span<const int32_t> tokens) {
  for (int32_t token : tokens)
    add(token);
  return *this;
}

PathKey OracleTarget::begin(std::span<const int32_t> prompt) const {
  return PathKey(seed).add(prompt);
}

int32_t OracleTarget::next(PathKey path, int64_t outputTokens) const {
  if (outputTokens < static_cast<int64_t>(outputs.size()))
    return outputs[outputTokens];
  return static_cast<int32_t>(mix(path.value()) %
                              static_cast<uint32_t>(vocabulary));
}

double OracleDraft::hitRate(int64_t count) const {
  if (count < 1)
    return 0;
  return 1 - (1 - acceptance) * std::pow(1 - furtherShare * acceptance,
                                         static_cast<double>(count - 1));
}

void OracleDraft::guess(PathKey path, int32_t truth, int64_t count,
                        std::vector<Candidate> &candidates) const {
  candidates.clear();
  count = std::min<int64_t>(count, vocabulary);
  // One random number decides which candidate, if any, is the truth: the first
  // one whose hit rate is above that number.
  uint64_t place = path.value();
  uint32_t bits = philox(
      {static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), 2, 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)})[0];
  double drawn = bits * 0x1p-32;
  double before = 0;
  for (int64_t i = 0; i < count; ++i) {
    double upTo = hitRate(i + 1);
    bool right = before <= drawn && drawn < upTo;
    auto wrong = static_cast<int32_t>((truth + 1 + i) % vocabulary);
    float sure = confidence == OracleConfidence::Calibrated
                     ? static_cast<float>(upTo - before)
                     : std::ldexp(1.0f, -static_cast<int>(i) - 1);
    candidates.push_back({right ? truth : wrong, sure});
    before = upTo;
  }
}
