//===- WorkPool.cpp - threads that requests are worked on -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/WorkPool.h"

#include "runtime/base/Guarded.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

WorkPool::~WorkPool() { stop(); }

Status WorkPool::start(int count) {
  threadCount = count;
  return guarded([&] {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this] { run(); });
    return Status();
  });
}

void WorkPool::stop() {
  std::deque<std::shared_ptr<Work>> dropped; // destroyed without the lock
  {
    std::lock_guard lock(mutex);
    stopping = true;
    dropped.swap(proceeds);
    for (Begin &begin : begins)
      dropped.push_back(std::move(begin.work));
    begins.clear();
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

// With the lock released, a work may be over, and the pool with it: so begin()
// and proceed() notify before.

bool WorkPool::begin(std::shared_ptr<Work> work, Time until) {
  std::lock_guard lock(mutex);
  if (stopping || static_cast<int64_t>(begins.size()) >= beginsWaiting)
    return false;
  begins.push_back({std::move(work), until});
  changed.notify_one();
  return true;
}

void WorkPool::withdraw(const Work &work) {
  std::shared_ptr<Work> dropped; // destroyed without the lock
  std::lock_guard lock(mutex);
  auto found = std::ranges::find_if(
      begins, [&work](const Begin &one) { return one.work.get() == &work; });
  if (found == begins.end())
    return;
  dropped = std::move(found->work);
  begins.erase(found);
}

void WorkPool::proceed(std::shared_ptr<Work> work) {
  std::lock_guard lock(mutex);
  if (stopping)
    return;
  proceeds.push_back(std::move(work));
  changed.notify_one();
}

int64_t WorkPool::waiting() const {
  std::lock_guard lock(mutex);
  return static_cast<int64_t>(begins.size());
}

bool WorkPool::mayBegin() const {
  return !begins.empty() && beginning < std::max<int64_t>(threadCount - 1, 1);
}

/// Who came first has the least time left.
bool WorkPool::hasExpired() const {
  return !begins.empty() && begins.front().until != Time(0) &&
         begins.front().until <= pipeline::now();
}

void WorkPool::waitForWork(std::unique_lock<std::mutex> &lock) {
  while (!stopping && proceeds.empty() && !mayBegin() && !hasExpired()) {
    if (begins.empty() || begins.front().until == Time(0))
      changed.wait(lock);
    else
      changed.wait_until(lock, pipeline::toTimePoint(begins.front().until));
  }
}

void WorkPool::run() {
  std::unique_lock lock(mutex);
  while (true) {
    waitForWork(lock);
    if (stopping)
      return;
    std::shared_ptr<Work> work;
    void (Work::*method)() = &Work::proceed;
    if (!proceeds.empty()) {
      work = std::move(proceeds.front());
      proceeds.pop_front();
    } else {
      method = hasExpired() ? &Work::expire : &Work::begin;
      work = std::move(begins.front().work);
      begins.pop_front();
    }
    const bool isBegin = method == &Work::begin;
    beginning += isBegin;
    lock.unlock();
    ((*work).*method)();
    work.reset(); // perhaps the last reference
    lock.lock();
    // Whoever was woken for a begin and was not allowed to sleeps again; this
    // thread looks at the queue next.
    beginning -= isBegin;
  }
}
