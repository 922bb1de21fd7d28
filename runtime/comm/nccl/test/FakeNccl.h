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
// NCCL's functions for ranks that are threads with a device each. Takes
// the freedoms of a nonblocking communicator: each call is in progress for
// some questions and its work is in the stream only then, a transfer lasts
// until both sides are there, revoking is done when it has been asked for.
// Whoever does not keep the rules gets an error: a call while another is in
// progress, other work in its stream meanwhile, a blocking communicator, sends
// and receives of different lengths. Aborting waits for graphs that have work
// of the communicator: where nobody destroys them, or where it has been revoked
// and NCCL would not wait, the process ends.
//
// Streams are EmulatedStreams: of ThreadDevices in unit tests; of emulated GPUs
// in executables, which open FakeNcclLibrary.cpp.
//
// A fault is at one rank. Others hear of it only from who has seen it.
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
    /// The `failAfter`-th call of this name fails, from 0.
    std::string failingCall;
    int failAfter = 0;
    /// This rank of a communicator never joins, as far as others see.
    int missingRank = -1;
    /// The n-th transfer of this rank of a communicator, from 0, never begins;
    /// or the rank is told there that another is lost.
    int faultyRank = 0;
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
