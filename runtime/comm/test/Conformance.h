//===- Conformance.h - tests that every communicator must pass ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conformance suite of communicators. All ranks of a job run each case at
// the same time, as threads or as processes, and end it with finish().
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
  /// Runs one rank's part, and returns the first error. The communicator has
  /// not been started, and has the default limits.
  Status (*run)(Communicator &comm);
};

std::span<const ConformanceCase> conformanceCases();

/// Prints a case as gtest shows it when it fails.
inline std::ostream &operator<<(std::ostream &out,
                                const ConformanceCase &which) {
  return out << which.name;
}

/// A case in which rank 1 ends the job in an error.
struct FailureCase {
  const char *name;
  int64_t ranks;
  /// Like ConformanceCase::run(); where ranks are processes, rank 1's part may
  /// not return.
  Status (*run)(Communicator &comm);
  /// The reason that the other ranks' receivers must be given.
  const char *reason;
  /// Whether the case is possible if ranks are threads of one process.
  bool inproc;
};

std::span<const FailureCase> failureCases();

inline std::ostream &operator<<(std::ostream &out, const FailureCase &which) {
  return out << which.name;
}

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_TEST_CONFORMANCE_H
