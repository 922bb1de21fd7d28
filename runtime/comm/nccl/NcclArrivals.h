//===- NcclArrivals.h - messages from the base communicator ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLARRIVALS_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLARRIVALS_H

#include "runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/comm/nccl/NcclControl.h"

namespace sluice::comm {

/// Takes the messages that come over the base communicator: those of the user
/// wait for their rows, the others change the state. Called on the base
/// communicator's thread.
class NcclArrivals {
public:
  /// All must outlive the object.
  NcclArrivals(NcclShared &shared, NcclControl &control,
               const NcclOptions &options, const NcclLibrary &library)
      : shared(shared), control(control), options(options), library(library) {}

  void take(Message message);
  /// Returns whether another data message of a rank may come.
  bool hasRoom(int64_t source);

private:
  using Kind = NcclEnvelope::Kind;
  Status read(Message &message);
  Status readJoin(const Message &message, const NcclEnvelope &envelope);

  NcclShared &shared;
  NcclControl &control;
  const NcclOptions &options;
  const NcclLibrary &library;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLARRIVALS_H
