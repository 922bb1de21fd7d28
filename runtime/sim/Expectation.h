//===- Expectation.h - the expected outcome of requests -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_EXPECTATION_H
#define SLUICE_RUNTIME_SIM_EXPECTATION_H

#include "runtime/oracle/Oracle.h"
#include "runtime/sim/HeadActor.h"

namespace sluice::sim {

/// The expected outcome of each request of a run, checked after the run.
struct Expectation {
  const OracleTarget &target;
  int64_t contextLength = 0;
  bool brokeOff = false; ///< the head has given up

  /// Fails if the request has not ended exactly once, if a token is not the
  /// target's or should not be there, or if the request has ended too early or
  /// for a wrong reason.
  Status check(const SimRequest &request, const RequestOutcome &outcome) const;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_EXPECTATION_H
