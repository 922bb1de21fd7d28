//===- InprocCommunicator.h - ranks as threads of a process ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

/// A job whose ranks are threads of this process: element r is rank r's end.
/// Messages are handed over without copying. Each end has a thread from start()
/// on, which calls its receiver. abort() tells the other ranks; ending the
/// process is left to whoever runs them. `size` and the options' limits are at
/// least 1.
std::vector<std::unique_ptr<Communicator>>
makeInprocJob(int64_t size, const CommunicatorOptions &options = {});

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H
