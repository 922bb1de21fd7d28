//===- BeginQueue.cpp - a fair queue of unread requests -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/BeginQueue.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

void BeginQueue::push(Entry entry) {
  const TenantId tenant = entry.tenant;
  Entries added;
  added.push_back(std::move(entry));
  std::deque<Entries::iterator> &waiting = queues[tenant].waiting;
  const size_t before = waiting.size();
  try {
    waiting.push_back(added.begin());
    updateState(tenant);
  } catch (...) {
    waiting.resize(before);
    updateState(tenant);
    throw;
  }
  entries.splice(entries.end(), added);
}

/// Returns the queue of a tenant that has used the least; null if none may
/// begin. Ties go to any of the tenants.
const BeginQueue::TenantQueue *BeginQueue::nextQueue(int64_t max) const {
  const TenantQueue *next = nullptr;
  Time minUsed{0};
  for (const auto &[tenant, queue] : queues) {
    if (queue.waiting.empty() || queue.underWay >= max)
      continue;
    if (Time had = times.of(tenant); !next || had < minUsed) {
      next = &queue;
      minUsed = had;
    }
  }
  return next;
}

BeginQueue::Entry BeginQueue::takeNext(int64_t max) {
  const TenantQueue *next = nextQueue(max);
  Entries::iterator first = next->waiting.front();
  ++queues.at(first->tenant).underWay;
  return take(first);
}

void BeginQueue::finished(TenantId tenant, Time used) {
  TenantQueue &queue = queues.at(tenant);
  times.advance(tenant, used);
  --queue.underWay;
  updateState(tenant);
}

Time BeginQueue::firstExpiry() const {
  return entries.empty() ? Time(0) : entries.front().until;
}

BeginQueue::Entry BeginQueue::takeExpired() { return take(entries.begin()); }

BeginQueue::Entry BeginQueue::withdraw(const WorkItem &item) {
  auto found = std::ranges::find_if(entries, [&item](const Entry &entry) {
    return entry.item.get() == &item;
  });
  return found == entries.end() ? Entry() : take(found);
}

BeginQueue::Entry BeginQueue::takeFromMost(TenantId newcomer) {
  auto max = std::ranges::max_element(
      queues, {}, [](const auto &each) { return each.second.waiting.size(); });
  auto own = queues.find(newcomer);
  size_t has = own == queues.end() ? 0 : own->second.waiting.size();
  if (max == queues.end() || max->second.waiting.size() < has + 2)
    return {};
  return take(max->second.waiting.back());
}

BeginQueue::Entry BeginQueue::take(Entries::iterator entry) {
  Entry taken = std::move(*entry);
  std::deque<Entries::iterator> &waiting = queues.at(taken.tenant).waiting;
  waiting.erase(std::ranges::find(waiting, entry));
  entries.erase(entry);
  updateState(taken.tenant);
  return taken;
}

void BeginQueue::updateState(TenantId tenant) {
  auto queue = queues.find(tenant);
  const bool waits = !queue->second.waiting.empty();
  const bool isServed = queue->second.underWay > 0;
  times.setState(tenant, VirtualTimes::stateOf(waits, isServed));
  if (!waits && !isServed)
    queues.erase(queue);
}
