//===- FairQueueing.cpp - fair queue priorities for tenants ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FairQueueing.h"

#include <algorithm>
#include <cassert>

namespace sluice {

QueuePriority FairQueueing::add(RequestNumber number, TenantNumber tenant,
                                double weight, const QueuePriority &own,
                                std::optional<Time> virtualNow,
                                std::vector<Change> &changes) {
  changes.clear();
  // Virtual time never goes back: a later request must not pass those that
  // wait.
  lastVirtualNow = std::max(lastVirtualNow, virtualNow.value_or(Time(0)));
  Entries &entries = tenants[tenant];
  Time tag = lastVirtualNow;
  if (!entries.empty()) {
    auto next = std::chrono::duration_cast<Time>(step / weight);
    tag = std::max(tag, entries.back().tag + std::max(next, Time(1)));
  }
  auto place = std::ranges::upper_bound(entries, own, {}, &Entry::own);
  auto at = static_cast<size_t>(place - entries.begin());
  entries.insert(place, {own, tag});
  // The new request takes the tag of the next one, that one takes the tag after
  // it, and so on; the last request gets the new tag.
  for (size_t i = at; i + 1 < entries.size(); ++i)
    std::swap(entries[i].tag, entries[i + 1].tag);
  for (size_t i = entries.size(); --i > at;) {
    RequestNumber moved = entries[i].own.number;
    changes.push_back({moved, {entries[i].tag, moved}});
  }
  return {entries[at].tag, number};
}

void FairQueueing::remove(RequestNumber number, TenantNumber tenant) {
  auto found = tenants.find(tenant);
  assert(found != tenants.end() && "the tenant has no requests");
  Entries &entries = found->second;
  auto entry = std::ranges::find(
      entries, number, [](const Entry &each) { return each.own.number; });
  assert(entry != entries.end() && "the tenant has no such request");
  entries.erase(entry);
  if (entries.empty())
    tenants.erase(found);
}

} // namespace sluice
