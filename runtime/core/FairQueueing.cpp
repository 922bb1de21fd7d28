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

/// Returns the time of the queue priority of the tenant's request at `index`.
Time FairQueueing::timeOf(const Tenant &tenant, int64_t index) const {
  return tenant.virtualTime + lengthOf(tenant, index * quantum);
}

//===----------------------------------------------------------------------===//
// Tenants
//===----------------------------------------------------------------------===//

void FairQueueing::add(const Place &place, const TenantTerms &terms) {
  Tenant &tenant = tenants[place.tenant];
  const bool wasBacklogged = tenant.isBacklogged();
  if (tenant.requests.empty())
    away.erase({tenant.virtualTime, place.tenant});
  tenant.terms = terms;
  tenant.requests.emplace(place.own, false);
  if (!wasBacklogged && tenant.isBacklogged())
    raise(tenant);
  isCut = true;
}

void FairQueueing::remove(const Place &place) {
  Tenant &tenant = tenants.at(place.tenant);
  auto request = tenant.requests.find(place.own);
  assert(request != tenant.requests.end() && "the tenant has no such request");
  const bool wasBacklogged = tenant.isBacklogged();
  tenant.running -= request->second;
  tenant.requests.erase(request);
  if (!wasBacklogged && tenant.isBacklogged())
    raise(tenant);
  isCut = true;
  if (tenant.requests.empty())
    leave(place.tenant, tenant);
}

void FairQueueing::setRunning(const Place &place, bool isRunning) {
  Tenant &tenant = tenants.at(place.tenant);
  bool &state = tenant.requests.at(place.own);
  assert(state != isRunning && "the request does so already");
  const bool wasBacklogged = tenant.isBacklogged();
  state = isRunning;
  tenant.running += isRunning ? 1 : -1;
  if (!wasBacklogged && tenant.isBacklogged())
    raise(tenant);
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
  tenant.virtualTime += lengthOf(tenant, tenant.uncounted - rest);
  tenant.uncounted = rest;
  if (!tenant.isBacklogged())
    raise(tenant);
  return true;
}

/// Raises the virtual time of a tenant that has not been backlogged so far.
void FairQueueing::raise(Tenant &tenant) {
  std::optional<Time> least, greatest;
  for (const auto &[number, other] : tenants) {
    if (&other == &tenant || other.requests.empty())
      continue;
    const Time at = other.virtualTime;
    greatest = std::max(greatest.value_or(at), at);
    if (other.isBacklogged())
      least = std::min(least.value_or(at), at);
  }
  const std::optional<Time> &now = least ? least : greatest;
  virtualTime = std::max(virtualTime, now.value_or(virtualTime));
  tenant.virtualTime = std::max(tenant.virtualTime, virtualTime);
  forgetAway();
}

/// Forgets tenants without requests whose virtual time has been reached.
void FairQueueing::forgetAway() {
  while (!away.empty() && away.begin()->first <= virtualTime) {
    tenants.erase(away.begin()->second);
    away.erase(away.begin());
  }
}

/// Remembers or forgets a tenant whose last request was removed. If nobody
/// waits, its work was no loss to others, so nobody has to reach its virtual
/// time. If nobody is left, all is forgotten.
void FairQueueing::leave(TenantNumber number, Tenant &tenant) {
  away.emplace(tenant.virtualTime, number);
  const bool anyWaits = std::ranges::any_of(
      tenants, [](const auto &each) { return each.second.isBacklogged(); });
  if (!anyWaits)
    virtualTime = std::max(virtualTime, tenant.virtualTime);
  if (away.size() == tenants.size())
    virtualTime = std::max(virtualTime, away.rbegin()->first);
  forgetAway();
}

//===----------------------------------------------------------------------===//
// The order of requests
//===----------------------------------------------------------------------===//

QueuePriority FairQueueing::queuePriority(const Place &place) const {
  const Tenant &tenant = tenants.at(place.tenant);
  auto request = tenant.requests.find(place.own);
  assert(request != tenant.requests.end() && "the tenant has no such request");
  return {timeOf(tenant, std::distance(tenant.requests.begin(), request)),
          place.own.number};
}

void FairQueueing::visitRunning(
    TenantNumber number,
    const std::function<void(const QueuePriority &)> &visit) const {
  auto found = tenants.find(number);
  if (found == tenants.end())
    return;
  const Tenant &tenant = found->second;
  int64_t index = 0, left = tenant.running;
  for (auto at = tenant.requests.begin(); left > 0; ++at, ++index) {
    if (!at->second)
      continue;
    visit({timeOf(tenant, index), at->first.number});
    --left;
  }
}

std::optional<QueuePriority> FairQueueing::lastWaiting(
    const std::function<bool(RequestNumber)> &isCandidate) const {
  std::optional<QueuePriority> last;
  for (const auto &[number, tenant] : tenants) {
    int64_t index = std::ssize(tenant.requests);
    for (auto at = tenant.requests.rbegin(); at != tenant.requests.rend();
         ++at) {
      const QueuePriority here{timeOf(tenant, --index), at->first.number};
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
  cursor.queuePriority = {timeOf(*cursor.tenant, cursor.index),
                          cursor.request->first.number};
  walk.push_back(cursor);
  std::ranges::push_heap(walk, comesLater);
}

void FairQueueing::beginWalk() {
  walk.clear();
  isCut = false;
  for (const auto &[number, tenant] : tenants)
    if (tenant.isBacklogged())
      pushCursor({{}, &tenant, tenant.requests.begin(), 0});
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
