//===- EventQueue.cpp - virtual time --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/EventQueue.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

void EventQueue::schedule(Time at, EventTarget &target, uint64_t what) {
  heap.push_back({std::max(at, clock), scheduled++, &target, what});
  std::push_heap(heap.begin(), heap.end(), later);
}

bool EventQueue::runNext() {
  if (heap.empty())
    return false;
  std::pop_heap(heap.begin(), heap.end(), later);
  Event event = heap.back();
  heap.pop_back();
  clock = event.at;
  ++count;
  event.target->onEvent(event.what);
  return true;
}
