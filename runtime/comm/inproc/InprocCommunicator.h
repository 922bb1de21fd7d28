//===- InprocCommunicator.h - ranks as threads of one process -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A communicator whose ranks are threads of one process.
//
//   std::vector<std::unique_ptr<Communicator>> ranks = makeInprocJob(4);
//   ranks[0]->start(...);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <memory>

namespace sluice::comm {

/// Makes a job whose ranks are threads of this process: element r of the result
/// is rank r's end. Messages are moved, not copied. From start() on, each end
/// has a thread that calls its receiver. abort() tells the other ranks; the
/// caller has to end the process. `size` and the limits in `options` must be at
/// least 1.
std::vector<std::unique_ptr<Communicator>>
makeInprocJob(int64_t size, const CommunicatorOptions &options = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H
