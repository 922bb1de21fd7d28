//===- VirtualTimes.h - what tenants have had of something shared ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps a virtual time for each tenant of something that tenants share: a
// thread, or the rows of steps. A tenant's virtual time is the amount that it
// has received so far, divided by its weight. The tenant with the least virtual
// time is served first (the virtual token counter: Sheng et al., "Fairness in
// Serving Large Language Models", OSDI 2024, algorithm 2; start-time fair
// queueing: Goyal, Vin, Cheng, SIGCOMM 1996).
//
// No credit. A tenant earns no credit while it wants nothing. When it begins to
// wait, its virtual time is raised to the least virtual time of the other
// waiting tenants, if it is below that. If no other tenant waits, it is raised
// to the greatest virtual time of the other tenants that are not away. The same
// is done whenever the virtual time of a tenant that does not wait advances.
// The virtual time of a tenant that has gone away is kept until the others have
// reached it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_VIRTUALTIMES_H
#define SLUICE_RUNTIME_CORE_VIRTUALTIMES_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <unordered_map>

namespace sluice {

/// Thread-compatible. Methods that change a tenant's state take O(tenants).
class VirtualTimes {
public:
  enum class State : uint8_t {
    Away,   ///< wants nothing
    Served, ///< has all that it wants, or may have
    Waiting ///< wants more than it has
  };
  /// Returns the state of a tenant for which something waits or is being done.
  static State stateOf(bool waits, bool isServed) {
    return waits ? State::Waiting : isServed ? State::Served : State::Away;
  }

  /// Changes a tenant's state. If memory runs out, throws and changes nothing.
  /// To go away needs no memory.
  void setState(TenantNumber tenant, State state);
  /// Notes that a tenant that is not away has had `amount` more, divided by its
  /// weight. O(1) if the tenant waits.
  void advance(TenantNumber tenant, Time amount);
  /// Returns the virtual time of a tenant that is not away. O(1).
  Time of(TenantNumber tenant) const { return tenants.at(tenant).at; }

  /// Returns how many tenants are not away. O(1).
  int64_t present() const { return presentNow; }
  /// Returns of how many tenants something is kept. O(1).
  int64_t known() const { return static_cast<int64_t>(tenants.size()); }

private:
  /// The largest number of tenants that are kept while they are away; if there
  /// are more, all of them are forgotten. A tenant is kept only while its
  /// virtual time is ahead of the others, so normally there are few.
  static constexpr int64_t maxAway = 1 << 12;

  struct Tenant {
    Time at{0};
    State state = State::Away;
  };

  void reach(TenantNumber besides);
  void forgetAway();

  std::unordered_map<TenantNumber, Tenant> tenants;
  int64_t presentNow = 0, waitingNow = 0;
  Time reached{0}; ///< by all tenants that are not kept
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_VIRTUALTIMES_H
