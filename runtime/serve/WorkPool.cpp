//===- WorkPool.cpp - threads that requests are worked on -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/WorkPool.h"

#include "runtime/base/Guarded.h"

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
    dropped.swap(begins);
    std::move(proceeds.begin(), proceeds.end(), std::back_inserter(dropped));
    proceeds.clear();
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

bool WorkPool::begin(std::shared_ptr<Work> work) {
  {
    std::lock_guard lock(mutex);
    if (stopping || static_cast<int64_t>(begins.size()) >= beginsWaiting)
      return false;
    begins.push_back(std::move(work));
  }
  changed.notify_one();
  return true;
}

void WorkPool::withdraw(const Work &work) {
  std::shared_ptr<Work> dropped; // destroyed without the lock
  std::lock_guard lock(mutex);
  auto found = std::find_if(
      begins.begin(), begins.end(),
      [&work](const std::shared_ptr<Work> &one) { return one.get() == &work; });
  if (found == begins.end())
    return;
  dropped = std::move(*found);
  begins.erase(found);
}

void WorkPool::proceed(std::shared_ptr<Work> work) {
  {
    std::lock_guard lock(mutex);
    if (stopping)
      return;
    proceeds.push_back(std::move(work));
  }
  changed.notify_one();
}

int64_t WorkPool::waiting() const {
  std::lock_guard lock(mutex);
  return static_cast<int64_t>(begins.size());
}

bool WorkPool::mayBegin() const {
  return !begins.empty() && beginning < std::max<int64_t>(threadCount - 1, 1);
}

void WorkPool::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(
        lock, [this] { return stopping || !proceeds.empty() || mayBegin(); });
    if (stopping)
      return;
    bool begins = proceeds.empty();
    std::deque<std::shared_ptr<Work>> &from = begins ? this->begins : proceeds;
    std::shared_ptr<Work> work = std::move(from.front());
    from.pop_front();
    beginning += begins;
    lock.unlock();
    if (begins)
      work->begin();
    else
      work->proceed();
    work.reset(); // perhaps the last reference
    lock.lock();
    // Whoever was woken for a begin and was not allowed to sleeps again; this
    // thread looks at the queue next.
    beginning -= begins;
  }
}
