//===- FakeNccl.h - an NCCL for ranks that are threads --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements NCCL's functions for ranks that are threads with a device each:
//
//   FakeNccl::reset({});
//   Expected<NcclLibrary> nccl = makeNccl(FakeNccl::functions());
//
// It takes the freedoms of a nonblocking communicator: each call is in progress
// for some polls, and its work is in the stream only after that; a transfer
// lasts until both sides are there; revoking is done only once it has been
// polled.
//
// A caller that breaks the rules gets an error: a call while another is in
// progress, other work in its stream meanwhile, a blocking communicator, or
// sends and receives of different lengths. Aborting waits for graphs that have
// captured the communicator's work. If these are not destroyed, or if the
// communicator has been revoked, so that NCCL would not wait, the process ends.
//
// Streams are EmulatedStreams: those of ThreadDevices in unit tests, or those
// of emulated GPUs in executables, which open FakeNcclLibrary.cpp.
//
// A fault happens at one rank. Other ranks learn of it only from a rank that
// has noticed it.
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
    /// The call of this name that follows `failAfter` others fails.
    std::string failingCall;
    int failAfter = 0;
    /// This rank of each communicator never joins, as far as the other ranks
    /// see.
    int missingRank = -1;
    /// The transfer of this number, from 0, of rank `faultyRank` of each
    /// communicator never begins; or that rank is told there that another rank
    /// is lost.
    int faultyRank = 0;
    int stuckTransfer = -1;
    int lostTransfer = -1;
  };

  /// Forgets all state. Must not be called while the fake is in use.
  static void reset(const Faults &faults);
  static NcclFunctions functions();

  /// Returns the number of calls of a function so far; `name` is for example
  /// "ncclSend".
  static int calls(const std::string &name);
  /// Returns the number of communicators that were neither destroyed nor
  /// aborted.
  static int open();
};

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_FAKENCCL_H
