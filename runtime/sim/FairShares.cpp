//===- FairShares.cpp - tenants who wait get their shares -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/FairShares.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

FairShares::FairShares(const Limits &limits) : limits(limits) {}

void FairShares::submit(RequestNumber number, const ScheduledRequest &request) {
  requests[number] = {request.spec.tenant, std::ssize(request.spec.prompt)};
  Tenant &tenant = tenants[request.spec.tenant];
  tenant.terms = request.terms;
  ++tenant.requests;
}

void FairShares::end(RequestNumber number) {
  auto request = requests.find(number);
  --tenants.at(request->second.tenant).requests;
  requests.erase(request);
}

void FairShares::token(RequestNumber number) {
  constexpr int64_t workOfToken = 2;
  add(requests.at(number), workOfToken);
}

void FairShares::add(const Request &request, int64_t work) {
  Tenant &tenant = tenants.at(request.tenant);
  tenant.work += double(work) / tenant.terms.weight;
}

/// Counts the requests that run, and the rows of their prompts that have left
/// for the first time.
void FairShares::lookIntoSlots(const Scheduler &scheduler) {
  for (auto &[number, tenant] : tenants)
    tenant.running = 0;
  for (RequestId slot = 0; slot < limits.slots; ++slot) {
    std::optional<RequestNumber> number = scheduler.requestIn(slot);
    if (!number)
      continue;
    Request &request = requests.at(*number);
    ++tenants.at(request.tenant).running;
    const int64_t sent =
        std::min(scheduler.rows().positionsSent(slot), request.promptTokens);
    add(request, std::max<int64_t>(0, sent - request.promptSent));
    request.promptSent = std::max(request.promptSent, sent);
  }
}

/// Returns what `other` may get more than `one`, which waits. A tenant's
/// requests are a quantum apart, so the first one that waits is `slots` quanta
/// behind the tenant's virtual time at most, and takes the place of one that is
/// a quantum later. The other tenant runs a quantum until its own virtual time
/// advances, and a step goes to its end. And requests that had to compute again
/// what they lost go on for as long.
double FairShares::bound(const Tenant &one, const Tenant &other) const {
  const int64_t quanta = limits.quantum * (limits.slots + 2);
  const int64_t steps = limits.prefillRows + 32 * limits.slots;
  const int64_t goingOn = 2 * limits.rowsLost * limits.slots;
  return double(quanta + steps) / one.terms.weight +
         double(2 * limits.quantum + steps + goingOn) / other.terms.weight;
}

Status FairShares::check(TenantNumber number, Tenant &tenant) {
  const bool waits = tenant.requests > tenant.running &&
                     (tenant.terms.maxRunning == 0 ||
                      tenant.running < tenant.terms.maxRunning);
  if (!waits || !tenant.waits)
    tenant.minLead.clear();
  tenant.waits = waits;
  if (!waits)
    return {};
  for (const auto &[other, each] : tenants) {
    const double lead = each.work - tenant.work;
    auto min = tenant.minLead.emplace(other, lead).first;
    min->second = std::min(min->second, lead);
    const double part = (lead - min->second) / bound(tenant, each);
    worstSoFar = std::max(worstSoFar, part);
    if (part > 1)
      return failure("tenant ", other, " gets ", lead - min->second,
                     " units of work more than tenant ", number,
                     " while that one waits");
  }
  return {};
}

Status FairShares::check(const Scheduler &scheduler) {
  lookIntoSlots(scheduler);
  for (auto &[number, tenant] : tenants)
    SLUICE_RETURN_IF_ERROR(check(number, tenant));
  return {};
}
