//===- Expectation.h - what has to become of a request --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_EXPECTATION_H
#define SLUICE_RUNTIME_SIM_EXPECTATION_H

#include "runtime/sim/HeadActor.h"
#include "runtime/sim/Oracle.h"

namespace sluice::sim {

/// What has to become of each request of a run, once that is over.
struct Expectation {
  const OracleTarget &target;
  int64_t contextLength = 0;
  bool brokeOff = false; ///< the head has given up

  /// Errors: the request has not ended exactly once; a token is not the
  /// target's, or not to be there; or it has ended too early or as something
  /// else than it had to.
  Status check(const SimRequest &request, const RequestOutcome &outcome) const;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_EXPECTATION_H
