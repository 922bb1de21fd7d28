//===- WorkPool.cpp - the threads that work on requests -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/WorkPool.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/base/ThreadPriority.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>
#include <limits>

using namespace sluice;
using namespace sluice::serve;

static constexpr int64_t anyNumber = std::numeric_limits<int64_t>::max();

WorkPool::~WorkPool() { stop(); }

Status WorkPool::start(Threads wanted) {
  counts = wanted;
  return guarded([&] {
    for (int i = 0; i < wanted.quick; ++i)
      threads.emplace_back([this] { runQuick(); });
    for (int i = 0; i < wanted.slow; ++i)
      threads.emplace_back([this] { runSlow(); });
    return Status();
  });
}

void WorkPool::stop() {
  // Destroyed without the lock.
  std::deque<std::shared_ptr<WorkItem>> dropped;
  BeginQueue droppedBegins, droppedLong;
  {
    std::lock_guard lock(mutex);
    stopping = true;
    dropped.swap(proceeds);
    std::swap(droppedBegins, begins);
    std::swap(droppedLong, longBegins);
  }
  changed.notify_all();
  longChanged.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

//===----------------------------------------------------------------------===//
// The queues
//===----------------------------------------------------------------------===//

bool WorkPool::begin(std::shared_ptr<WorkItem> item, TenantId tenant,
                     Time until) {
  BeginQueue::Entry replaced;
  Status added;
  {
    std::lock_guard lock(mutex);
    if (stopping)
      return false;
    if (begins.size() + longBegins.size() >= beginsWaiting) {
      BeginQueue &larger =
          begins.size() > longBegins.size() ? begins : longBegins;
      replaced = larger.takeFromMost(tenant);
      if (!replaced.item)
        return false;
    }
    added = guarded([&] {
      begins.push({std::move(item), tenant, until});
      return Status();
    });
    changed.notify_one();
  }
  if (replaced.item)
    replaced.item->refuse();
  if (!added.ok())
    throw std::bad_alloc();
  return true;
}

void WorkPool::withdraw(const WorkItem &item) {
  BeginQueue::Entry dropped; // destroyed without the lock
  std::lock_guard lock(mutex);
  dropped = begins.withdraw(item);
  if (!dropped.item)
    dropped = longBegins.withdraw(item);
}

void WorkPool::proceed(std::shared_ptr<WorkItem> item) {
  std::unique_lock lock(mutex);
  insist(lock, [&] {
    if (!stopping)
      proceeds.push_back(item);
  });
  changed.notify_one();
}

int64_t WorkPool::waiting() const {
  std::lock_guard lock(mutex);
  return begins.size() + longBegins.size();
}

Movement WorkPool::beginMovement() const {
  std::lock_guard lock(mutex);
  return {.count = begun, .hasWork = beginning > 0 || !begins.empty()};
}

Movement WorkPool::proceedMovement() const {
  std::lock_guard lock(mutex);
  return {.count = proceeded, .hasWork = proceeding > 0 || !proceeds.empty()};
}

Movement WorkPool::longMovement() const {
  std::lock_guard lock(mutex);
  return {.count = begunLong,
          .hasWork = beginningLong > 0 || !longBegins.empty()};
}

//===----------------------------------------------------------------------===//
// The threads
//===----------------------------------------------------------------------===//

bool WorkPool::mayBegin() const {
  return beginning < std::max(counts.quick - 1, 1) && begins.hasNext(anyNumber);
}

Time WorkPool::firstExpiry() const {
  Time first = begins.firstExpiry(), other = longBegins.firstExpiry();
  if (first == Time(0) || other == Time(0))
    return std::max(first, other);
  return std::min(first, other);
}

/// Returns a queue whose first entry has expired, or null.
BeginQueue *WorkPool::expired() {
  for (BeginQueue *queue : {&begins, &longBegins})
    if (Time until = queue->firstExpiry();
        until != Time(0) && until <= pipeline::now())
      return queue;
  return nullptr;
}

/// Waits until there is work for a quick thread. Returns false if the pool
/// stops.
bool WorkPool::waitForWork(std::unique_lock<std::mutex> &lock) {
  while (!stopping && proceeds.empty() && !mayBegin() && !expired()) {
    if (Time first = firstExpiry(); first == Time(0))
      changed.wait(lock);
    else
      changed.wait_until(lock, pipeline::toTimePoint(first));
  }
  return !stopping;
}

void WorkPool::runQuick() {
  std::unique_lock lock(mutex);
  while (waitForWork(lock)) {
    if (proceeds.empty() && !expired()) {
      ++beginning;
      beginNext(begins, WorkItem::Pace::Quick, lock);
      --beginning;
      ++begun;
    } else {
      ++proceeding;
      proceedOrExpire(lock);
      --proceeding;
      ++proceeded;
    }
  }
}

void WorkPool::proceedOrExpire(std::unique_lock<std::mutex> &lock) {
  std::shared_ptr<WorkItem> item;
  void (WorkItem::*method)() = &WorkItem::proceed;
  if (!proceeds.empty()) {
    item = std::move(proceeds.front());
    proceeds.pop_front();
  } else {
    method = &WorkItem::expire;
    item = expired()->takeExpired().item;
  }
  lock.unlock();
  ((*item).*method)();
  item.reset(); // may be the last reference
  lock.lock();
}

/// Returns how many long begins of one tenant may run at once. With at least
/// two slow threads, one is left for other tenants.
static int64_t longOfTenant(int slowThreads) {
  return std::max(slowThreads - 1, 1);
}

/// Like waitForWork(), for a slow thread.
bool WorkPool::waitForLong(std::unique_lock<std::mutex> &lock) {
  longChanged.wait(lock, [this] {
    return stopping || longBegins.hasNext(longOfTenant(counts.slow));
  });
  return !stopping;
}

void WorkPool::runSlow() {
  giveWayToOthers();
  std::unique_lock lock(mutex);
  while (waitForLong(lock)) {
    ++beginningLong;
    beginNext(longBegins, WorkItem::Pace::Long, lock);
    --beginningLong;
    ++begunLong;
  }
}

void WorkPool::beginNext(BeginQueue &queue, WorkItem::Pace pace,
                         std::unique_lock<std::mutex> &lock) {
  BeginQueue::Entry entry = queue.takeNext(
      pace == WorkItem::Pace::Quick ? anyNumber : longOfTenant(counts.slow));
  lock.unlock();
  const Time began = pipeline::now();
  const bool isDone = entry.item->begin(pace);
  const Time took = pipeline::now() - began;
  if (isDone)
    entry.item.reset(); // may be the last reference
  lock.lock();
  if (!isDone)
    insist(lock, [&] {
      if (!stopping)
        longBegins.push(entry);
    });
  if (stopping) { // the queue has been dropped
    lock.unlock();
    entry.item.reset();
    return lock.lock();
  }
  queue.finished(entry.tenant, took);
  // The tenant may now have another long begin. This thread looks at its own
  // queue next, and a thread that is woken in vain sleeps again.
  longChanged.notify_one();
}
