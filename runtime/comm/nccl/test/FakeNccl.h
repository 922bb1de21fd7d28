//===- FakeNccl.h - an NCCL between threads -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   FakeNccl::reset({});
//   Expected<NcclLibrary> nccl = makeNccl(FakeNccl::functions());
//
// NCCL's functions for ranks that are threads with a ThreadDevice each. Takes
// the freedoms of a nonblocking communicator: each call is in progress for
// some questions, a transfer lasts until both sides are there, and whoever does
// not keep the rules (a call while another is in progress, a blocking
// communicator, sends and receives of different lengths) gets an error.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCL_H
#define SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCL_H

#include "runtime/comm/nccl/NcclLibrary.h"

#include <string>

namespace sluice::comm::test {

class FakeNccl {
public:
  struct Faults {
    int version = 22809;
    bool hasRevoke = true;
    /// The call of this name fails from the `failAfter`-th on, from 0.
    std::string failingCall;
    int failAfter = 0;
    /// This rank of a communicator never joins, as far as others see.
    int missingRank = -1;
    /// The n-th transfer of a communicator, from 0, never ends; or its
    /// communicator is told of a lost rank while it is under way.
    int stuckTransfer = -1;
    int lostTransfer = -1;
  };

  /// Forgets everything. While nobody uses it.
  static void reset(const Faults &faults);
  static NcclFunctions functions();

  /// Calls so far: "ncclSend".
  static int calls(const std::string &name);
  /// Communicators that have been neither destroyed nor aborted.
  static int open();
};

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCL_H
