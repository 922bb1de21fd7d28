//===- FairShares.h - tenants who wait get their shares -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the fairness between tenants during a run: while a tenant has a
// request that waits and may run, no other tenant gets more work than this one,
// by weight, apart from a bound. The bound does not depend on how long the run
// is, so nobody waits for ever. Work is counted from tokens and from what has
// left of prompts, not from what the scheduler charges.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FAIRSHARES_H
#define SLUICE_RUNTIME_SIM_FAIRSHARES_H

#include "runtime/core/Scheduler.h"

#include <map>

namespace sluice::sim {

/// Thread-compatible.
class FairShares {
public:
  struct Limits {
    int64_t slots = 1;       ///< HeadLimits::requests
    int64_t prefillRows = 0; ///< HeadLimits::prefillRows
    int64_t quantum = 1;     ///< SchedulerLimits::fairQuantum
    int64_t rowsLost = 0;    ///< by a request that is preempted, at most
  };
  explicit FairShares(const Limits &limits);

  /// Notes that the scheduler has accepted a request.
  void submit(RequestNumber number, const ScheduledRequest &request);
  /// Notes that a request has a token.
  void token(RequestNumber number);
  /// Notes that a request has ended.
  void end(RequestNumber number);
  /// Must be called after each event, once its tokens and ends are noted. Fails
  /// if a tenant has got too much since another one has been waiting.
  Status check(const Scheduler &scheduler);

  /// Returns the most that a tenant has got more than another one that waited,
  /// as a part of the bound.
  double worst() const { return worstSoFar; }

private:
  struct Request {
    TenantNumber tenant = 0;
    int64_t promptTokens = 0;
    int64_t promptSent = 0; ///< of these, tokens whose rows were counted
  };
  struct Tenant {
    TenantTerms terms;
    double work = 0; ///< divided by the weight
    int64_t requests = 0, running = 0;
    bool waits = false; ///< has a request that waits and may run
    /// What the other tenant had got more than this one when that was least,
    /// since this one has been waiting.
    std::map<TenantNumber, double> minLead;
  };

  void add(const Request &request, int64_t work);
  void lookIntoSlots(const Scheduler &scheduler);
  double bound(const Tenant &one, const Tenant &other) const;
  Status check(TenantNumber number, Tenant &tenant);

  const Limits limits;
  std::map<RequestNumber, Request> requests;
  std::map<TenantNumber, Tenant> tenants;
  double worstSoFar = 0;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FAIRSHARES_H
