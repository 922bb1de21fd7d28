//===- Ring.h - a queue that keeps its capacity ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_RING_H
#define SLUICE_RUNTIME_COMM_RING_H

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::comm {

/// A first-in, first-out queue. It keeps its capacity when it empties, so it
/// allocates only when it holds more elements than ever before.
/// Thread-compatible.
template <typename T> class Ring {
public:
  bool empty() const { return count == 0; }
  size_t size() const { return count; }

  T &front() {
    assert(count > 0);
    return slots[first];
  }

  void push(T value) {
    if (count == slots.size())
      grow();
    slots[(first + count) % slots.size()] = std::move(value);
    ++count;
  }

  T pop() {
    assert(count > 0);
    T value = std::exchange(slots[first], T());
    first = (first + 1) % slots.size();
    --count;
    return value;
  }

  void clear() {
    while (!empty())
      pop();
  }

private:
  void grow() {
    std::vector<T> wider(slots.empty() ? 8 : 2 * slots.size());
    for (size_t i = 0; i < count; ++i)
      wider[i] = std::move(slots[(first + i) % slots.size()]);
    slots = std::move(wider);
    first = 0;
  }

  std::vector<T> slots;
  size_t first = 0;
  size_t count = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_RING_H
