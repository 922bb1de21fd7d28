//===- BeginQueue.cpp - requests that wait to be read ---------------------===//
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
  auto [lane, fresh] = lanes.try_emplace(tenant);
  if (fresh)
    lane->second.used = virtualTime;
  try {
    lane->second.waiting.push_back(added.begin());
  } catch (...) {
    forgetIfIdle(tenant);
    throw;
  }
  entries.splice(entries.end(), added);
}

/// The lane whose tenant has used the least, the one that waits longest among
/// equals; null: none may go on.
const BeginQueue::Lane *BeginQueue::nextLane(int64_t max) const {
  const Lane *next = nullptr;
  for (const auto &[tenant, lane] : lanes)
    if (!lane.waiting.empty() && lane.underWay < max &&
        (!next || lane.used < next->used))
      next = &lane;
  return next;
}

BeginQueue::Entry BeginQueue::takeNext(int64_t max) {
  const Lane *next = nextLane(max);
  virtualTime = std::max(virtualTime, next->used);
  Entries::iterator first = next->waiting.front();
  ++lanes.at(first->tenant).underWay;
  return take(first);
}

void BeginQueue::finished(TenantId tenant, Time used) {
  Lane &lane = lanes.at(tenant);
  lane.used += used;
  --lane.underWay;
  forgetIfIdle(tenant);
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
      lanes, {}, [](const auto &each) { return each.second.waiting.size(); });
  auto own = lanes.find(newcomer);
  size_t has = own == lanes.end() ? 0 : own->second.waiting.size();
  if (max == lanes.end() || max->second.waiting.size() < has + 2)
    return {};
  return take(max->second.waiting.back());
}

BeginQueue::Entry BeginQueue::take(Entries::iterator entry) {
  Entry taken = std::move(*entry);
  std::deque<Entries::iterator> &waiting = lanes.at(taken.tenant).waiting;
  waiting.erase(std::ranges::find(waiting, entry));
  entries.erase(entry);
  forgetIfIdle(taken.tenant);
  return taken;
}

void BeginQueue::forgetIfIdle(TenantId tenant) {
  auto lane = lanes.find(tenant);
  if (lane->second.waiting.empty() && lane->second.underWay == 0)
    lanes.erase(lane);
}
