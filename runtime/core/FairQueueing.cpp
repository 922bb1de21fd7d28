//===- FairQueueing.cpp - a fair order of requests of tenants -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FairQueueing.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace sluice {

/// Returns how far `work` advances the tenant's virtual time: a microsecond for
/// a unit of work at weight 1, so at any weight it is at least a nanosecond.
Time FairQueueing::lengthOf(const Tenant &tenant, int64_t work) const {
  constexpr double unit = 1000;
  return Time(static_cast<int64_t>(double(work) * unit / tenant.terms.weight));
}

/// Returns the queue priority of the tenant's request at `index`, whose place
/// is `own`.
QueuePriority FairQueueing::priorityAt(const Tenant &tenant, Time virtualTime,
                                       int64_t index,
                                       const QueuePriority &own) const {
  return {virtualTime + lengthOf(tenant, index * quantum), own.number};
}

//===----------------------------------------------------------------------===//
// Tenants
//===----------------------------------------------------------------------===//

void FairQueueing::updateState(TenantNumber number, const Tenant &tenant) {
  times.setState(
      number, VirtualTimes::stateOf(tenant.waits(), !tenant.requests.empty()));
}

void FairQueueing::add(const Place &place, const TenantTerms &terms) {
  Tenant &tenant = tenants[place.tenant];
  tenant.terms = terms;
  tenant.requests.emplace(place.own, false);
  updateState(place.tenant, tenant);
  isCut = true;
}

void FairQueueing::remove(const Place &place) {
  auto found = tenants.find(place.tenant);
  assert(found != tenants.end() && "the tenant has no requests");
  Tenant &tenant = found->second;
  auto request = tenant.requests.find(place.own);
  assert(request != tenant.requests.end() && "the tenant has no such request");
  tenant.running -= request->second;
  tenant.requests.erase(request);
  isCut = true;
  if (tenant.requests.empty())
    times.advance(place.tenant, lengthOf(tenant, tenant.uncounted));
  updateState(place.tenant, tenant);
  if (tenant.requests.empty())
    tenants.erase(found);
}

void FairQueueing::setRunning(const Place &place, bool isRunning) {
  Tenant &tenant = tenants.at(place.tenant);
  bool &state = tenant.requests.at(place.own);
  assert(state != isRunning && "the request does so already");
  state = isRunning;
  tenant.running += isRunning ? 1 : -1;
  updateState(place.tenant, tenant);
  isCut |= !isRunning;
}

bool FairQueueing::charge(TenantNumber number, int64_t work) {
  Tenant &tenant = tenants.at(number);
  tenant.uncounted += work;
  // If very many requests run, a quantum is over in a step, but a change of all
  // their priorities takes time.
  constexpr int64_t minWorkEach = 16;
  if (tenant.uncounted < std::max(quantum, minWorkEach * tenant.running))
    return false;
  const int64_t rest = tenant.uncounted % quantum;
  times.advance(number, lengthOf(tenant, tenant.uncounted - rest));
  tenant.uncounted = rest;
  return true;
}

//===----------------------------------------------------------------------===//
// The order of requests
//===----------------------------------------------------------------------===//

QueuePriority FairQueueing::queuePriority(const Place &place) const {
  const Tenant &tenant = tenants.at(place.tenant);
  auto request = tenant.requests.find(place.own);
  assert(request != tenant.requests.end() && "the tenant has no such request");
  const int64_t index = std::distance(tenant.requests.begin(), request);
  return priorityAt(tenant, times.of(place.tenant), index, place.own);
}

void FairQueueing::visitRunning(
    TenantNumber number,
    const std::function<void(const QueuePriority &)> &visit) const {
  auto found = tenants.find(number);
  if (found == tenants.end())
    return;
  const Tenant &tenant = found->second;
  const Time virtualTime = times.of(number);
  int64_t index = 0, left = tenant.running;
  for (auto at = tenant.requests.begin(); left > 0; ++at, ++index) {
    if (!at->second)
      continue;
    visit(priorityAt(tenant, virtualTime, index, at->first));
    --left;
  }
}

std::optional<QueuePriority> FairQueueing::lastWaiting(
    const std::function<bool(RequestNumber)> &isCandidate) const {
  std::optional<QueuePriority> last;
  for (const auto &[number, tenant] : tenants) {
    const Time virtualTime = times.of(number);
    int64_t index = std::ssize(tenant.requests);
    for (auto at = tenant.requests.rbegin(); at != tenant.requests.rend();
         ++at) {
      const QueuePriority here =
          priorityAt(tenant, virtualTime, --index, at->first);
      if (at->second || !isCandidate(here.number))
        continue;
      if (!last || *last < here)
        last = here;
      break;
    }
  }
  return last;
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

static constexpr auto comesLater = [](const auto &a, const auto &b) {
  return b.queuePriority < a.queuePriority;
};

/// Moves the cursor to a waiting request, if there is one at or behind it, and
/// puts it into the heap.
void FairQueueing::pushCursor(Cursor cursor) {
  const Requests &requests = cursor.tenant->requests;
  for (; cursor.request != requests.end() && cursor.request->second;
       ++cursor.request)
    ++cursor.index;
  if (cursor.request == requests.end() || cursor.tenant->isCapped())
    return;
  cursor.queuePriority = priorityAt(*cursor.tenant, cursor.virtualTime,
                                    cursor.index, cursor.request->first);
  walk.push_back(cursor);
  std::ranges::push_heap(walk, comesLater);
}

void FairQueueing::beginWalk() {
  walk.clear();
  isCut = false;
  for (const auto &[number, tenant] : tenants)
    if (tenant.waits())
      pushCursor({{}, times.of(number), &tenant, tenant.requests.begin(), 0});
}

std::optional<QueuePriority> FairQueueing::next() {
  while (!isCut && !walk.empty()) {
    std::ranges::pop_heap(walk, comesLater);
    Cursor cursor = walk.back();
    walk.pop_back();
    if (cursor.tenant->isCapped())
      continue;
    const QueuePriority next = cursor.queuePriority;
    ++cursor.request;
    ++cursor.index;
    pushCursor(cursor);
    return next;
  }
  return std::nullopt;
}

} // namespace sluice
