//===- ThreadPool.cpp - N threads that run one function together ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ThreadPool.h"

#include "runtime/base/BriefWait.h"

#include <cassert>
#include <system_error>

namespace sluice::cpu {

ThreadPool::ThreadPool(int64_t threads, const std::vector<ProcessorSet> &places)
    : count(threads), masks(places.begin(), places.end()) {
  assert(threads >= 1);
  assert(places.empty() || places.size() == static_cast<size_t>(threads));
  if (isPinned())
    callersMask = AffinityMask::ofThisThread();
  team.reserve(static_cast<size_t>(threads - 1));
  // The threads read `count` only inside runs, and no run starts before this
  // constructor returns.
  try {
    for (int64_t thread = 1; thread < threads; ++thread)
      team.emplace_back([this, thread] { work(thread); });
  } catch (const std::system_error &) {
    count = static_cast<int64_t>(team.size()) + 1;
  }
}

ThreadPool::~ThreadPool() {
  function = nullptr;
  started.fetch_add(1, std::memory_order_release);
  started.notify_all();
  for (std::thread &member : team)
    member.join();
}

void ThreadPool::work(int64_t thread) {
  if (isPinned())
    masks[static_cast<size_t>(thread)].apply();
  uint32_t seen = 0;
  while (true) {
    auto next = [&] { return started.load(std::memory_order_acquire) != seen; };
    if (!waitBriefly(next))
      while (!next())
        started.wait(seen, std::memory_order_acquire);
    ++seen;
    if (!function)
      return;
    function(context, thread);
    running.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadPool::runErased(Function body, void *bodyContext) {
  function = body;
  context = bodyContext;
  running.store(count - 1, std::memory_order_relaxed);
  // Publishes the three stores above. notify_all() wakes threads that sleep; it
  // costs a load if none does.
  started.fetch_add(1, std::memory_order_release);
  started.notify_all();
  bool pinsCaller = isPinned() && callersMask.readAgain();
  if (pinsCaller)
    masks.front().apply();
  body(bodyContext, 0);
  auto done = [this] { return running.load(std::memory_order_acquire) == 0; };
  while (!waitBriefly(done))
    continue;
  if (pinsCaller)
    callersMask.apply();
}

void ThreadPool::barrier() {
  if (count == 1)
    return;
  uint32_t current = phase.load(std::memory_order_relaxed);
  // The last thread to arrive has acquired what all other threads released, and
  // releases it to them with the new phase.
  if (arrived.fetch_add(1, std::memory_order_acq_rel) == count - 1) {
    arrived.store(0, std::memory_order_relaxed);
    phase.store(current + 1, std::memory_order_release);
    return;
  }
  auto passed = [&] {
    return phase.load(std::memory_order_acquire) != current;
  };
  while (!waitBriefly(passed))
    continue;
}

} // namespace sluice::cpu
