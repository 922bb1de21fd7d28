//===- Conformance.h - what every communicator must do --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every communicator must do. Each case is run by all ranks of a job at
// the same time, as threads or as processes, and ends with finish().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_TEST_CONFORMANCE_H
#define SLUICE_RUNTIME_COMM_TEST_CONFORMANCE_H

#include "runtime/comm/Communicator.h"

#include <ostream>
#include <span>
#include <string_view>

namespace sluice::comm::test {

struct ConformanceCase {
  const char *name;
  int64_t ranks;
  /// Runs one rank's part; the error is the first thing that is wrong. The
  /// communicator has not been started, and has the default limits.
  Status (*run)(Communicator &comm);
};

std::span<const ConformanceCase> conformanceCases();

/// What gtest prints where a case fails.
inline std::ostream &operator<<(std::ostream &out,
                                const ConformanceCase &which) {
  return out << which.name;
}

/// Cases that end a job badly. Rank 1 is the culprit.
struct FailureCase {
  const char *name;
  int64_t ranks;
  /// As above; for the culprit's part in processes, may not return.
  Status (*run)(Communicator &comm);
  /// What the other ranks' receivers must be told.
  const char *reason;
  /// Whether it can be done where ranks are threads of one process.
  bool inproc;
};

std::span<const FailureCase> failureCases();

inline std::ostream &operator<<(std::ostream &out, const FailureCase &which) {
  return out << which.name;
}

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_TEST_CONFORMANCE_H
