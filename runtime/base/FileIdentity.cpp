//===- FileIdentity.cpp - a hash that detects changed files ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FileIdentity.h"

using namespace sluice;

uint64_t sluice::fnv1a(std::span<const uint8_t> bytes, uint64_t seed) {
  uint64_t hash = seed;
  for (uint8_t byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

std::string sluice::fileIdentity(std::span<const uint8_t> bytes) {
  constexpr size_t wholeBelow = size_t(2) << 20;
  constexpr size_t header = size_t(1) << 20;
  constexpr size_t sample = 4096;
  constexpr size_t samples = 256;

  uint64_t size = bytes.size();
  uint64_t hash = fnv1a({reinterpret_cast<const uint8_t *>(&size), 8});
  if (bytes.size() < wholeBelow) {
    hash = fnv1a(bytes, hash);
  } else {
    hash = fnv1a(bytes.first(header), hash);
    size_t last = bytes.size() - sample;
    for (size_t i = 1; i <= samples; ++i)
      hash =
          fnv1a(bytes.subspan(last / samples * i + last % samples * i / samples,
                              sample),
                hash);
  }
  static const char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4)
    text[i] = digits[hash & 15];
  return text;
}
