//===- ByteSource.h - an input as a list of choices ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_FUZZ_BYTESOURCE_H
#define SLUICE_FUZZ_BYTESOURCE_H

#include <algorithm>
#include <cstdint>
#include <span>

namespace sluice::fuzz {

/// Takes choices from an input's bytes, one after the other; behind the last
/// one all are 0.
class ByteSource {
public:
  explicit ByteSource(std::span<const uint8_t> bytes) : rest(bytes) {}

  bool empty() const { return rest.empty(); }

  uint8_t byte() {
    if (rest.empty())
      return 0;
    uint8_t first = rest.front();
    rest = rest.subspan(1);
    return first;
  }

  /// One of low .. high, of at most 256.
  int64_t between(int64_t low, int64_t high) {
    return low + byte() % (high - low + 1);
  }

  /// The next bytes, `count` of them or as many as there are.
  std::span<const uint8_t> take(size_t count) {
    std::span<const uint8_t> taken = rest.first(std::min(count, rest.size()));
    rest = rest.subspan(taken.size());
    return taken;
  }

private:
  std::span<const uint8_t> rest;
};

} // namespace sluice::fuzz

#endif // SLUICE_FUZZ_BYTESOURCE_H
