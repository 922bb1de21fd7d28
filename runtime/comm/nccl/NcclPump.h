//===- NcclPump.h - the thread that calls NCCL ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLPUMP_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLPUMP_H

#include "runtime/comm/nccl/NcclControl.h"
#include "runtime/comm/nccl/NcclEdges.h"

#include <thread>

namespace sluice::comm {

/// The thread that makes all NCCL calls: it polls whether transfers are done,
/// and calls the user's receiver. connect(), setReceiver() and stop() belong to
/// the rank's user.
class NcclPump {
public:
  /// All must outlive the object.
  NcclPump(Communicator &base, NcclShared &shared, NcclControl &control,
           NcclEdges &edges, const NcclLibrary &library,
           const NcclOptions &options)
      : base(base), shared(shared), control(control), edges(edges),
        library(library), options(options) {}

  /// Starts the thread and connects all ways; blocks until they are.
  Status connect();
  /// Begins to deliver messages. Called once.
  void setReceiver(Communicator::Receiver given);
  /// Ends the thread. Does nothing if it has not been started.
  void stop();

private:
  using Clock = NcclShared::Clock;
  using Lock = NcclShared::Lock;
  using Kind = NcclEnvelope::Kind;

  Status setUp();
  Expected<NcclUniqueId> awaitId(int64_t from, Clock::time_point deadline);
  void runToTheEnd();
  void run();
  void takeOrders();
  bool advance(Lock &lock);
  bool deliverControl(Lock &lock);
  bool deliverData(Lock &lock);
  bool reportFailure(Lock &lock);
  bool endJob(Lock &lock);
  void idle(Lock &lock);
  void close(Lock &lock);

  Communicator &base;
  NcclShared &shared;
  NcclControl &control;
  NcclEdges &edges;
  const NcclLibrary &library;
  const NcclOptions &options;
  /// The one that the gate returned; guarded by shared.mutex.
  std::optional<Communicator::Receiver> receiver;
  // The following belong to the thread.
  size_t nextSource = 0;  ///< the source whose data is looked at first
  bool brokenOff = false; ///< the edges are broken off
  Clock::time_point lastMoved;
  std::thread thread;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLPUMP_H
