//===- VirtualTimes.cpp - what tenants have had of something shared -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/VirtualTimes.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace sluice;

void VirtualTimes::setState(TenantNumber number, State state) {
  auto found = tenants.find(number);
  if (found == tenants.end() && state == State::Away)
    return;
  Tenant &tenant = found == tenants.end() ? tenants[number] : found->second;
  const State before = std::exchange(tenant.state, state);
  presentNow += (state != State::Away) - (before != State::Away);
  waitingNow += (state == State::Waiting) - (before == State::Waiting);
  if (state == State::Waiting && before != State::Waiting) {
    reach(number);
    tenant.at = std::max(tenant.at, reached);
  }
  if (state != State::Away)
    return;
  // If nobody waits, what the tenant has had was no loss to others, so nobody
  // has to reach its virtual time.
  if (waitingNow == 0)
    reached = std::max(reached, tenant.at);
  forgetAway();
}

void VirtualTimes::advance(TenantNumber number, Time amount) {
  Tenant &tenant = tenants.at(number);
  tenant.at += amount;
  if (tenant.state == State::Waiting)
    return;
  reach(number);
  tenant.at = std::max(tenant.at, reached);
}

/// Advances `reached` to where the others are, and forgets those away whom they
/// have reached.
void VirtualTimes::reach(TenantNumber besides) {
  std::optional<Time> minWaiting, maxPresent;
  for (const auto &[other, each] : tenants) {
    if (other == besides || each.state == State::Away)
      continue;
    maxPresent = std::max(maxPresent.value_or(each.at), each.at);
    if (each.state == State::Waiting)
      minWaiting = std::min(minWaiting.value_or(each.at), each.at);
  }
  const std::optional<Time> &now = minWaiting ? minWaiting : maxPresent;
  reached = std::max(reached, now.value_or(reached));
  forgetAway();
}

/// Forgets the tenants that are away if all others have reached them, or if
/// they are too many.
void VirtualTimes::forgetAway() {
  const bool tooMany = known() - present() > maxAway;
  std::erase_if(tenants, [&](const auto &each) {
    return each.second.state == State::Away &&
           (present() == 0 || tooMany || each.second.at <= reached);
  });
  if (present() == 0)
    reached = Time(0);
}
