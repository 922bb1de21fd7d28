//===- NcclRank.h - one rank's end of an NcclCommunicator -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H

#include "runtime/comm/ReceiverGate.h"
#include "runtime/comm/nccl/NcclArrivals.h"
#include "runtime/comm/nccl/NcclPump.h"

namespace sluice::comm {

/// Implements NcclCommunicator: what its user calls. NcclArrivals takes what
/// comes over the base communicator, and the thread of NcclPump calls NCCL.
class NcclRank final : public NcclCommunicator {
public:
  NcclRank(std::unique_ptr<Communicator> base, const NcclLibrary &library,
           cuda::Device *device, const NcclOptions &options);
  ~NcclRank() override;

  Status connect() override;

  int64_t rank() const override { return shared.self; }
  int64_t size() const override { return base->size(); }
  void start(Receiver given) override;
  void detach() override;
  void roomChanged() override;
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override;
  Status sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                  int64_t rowBytes, cuda::Stream stream) override;
  void giveBack(const DevicePayload &payload) override;
  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return base->receive(source, bytes, end);
  }
  void stopReceiving() override { base->stopReceiving(); }
  Status finish(std::chrono::milliseconds patience) override;
  void abort(const Status &reason) override;
  std::vector<Traffic> traffic() const override;
  BufferPool &buffers() override { return base->buffers(); }

private:
  using Lock = NcclShared::Lock;
  using Kind = NcclEnvelope::Kind;

  Status takeRoom(int64_t to, int64_t rowBytes, uint64_t length,
                  int64_t &offset);
  Status beginFinish(std::chrono::milliseconds patience);
  Status drain(NcclShared::Clock::time_point until,
               std::chrono::milliseconds patience);

  std::unique_ptr<Communicator> base;
  NcclLibrary library;
  NcclOptions options;
  ReceiverGate gate;
  mutable NcclShared shared;
  NcclControl control;
  NcclEdges edges;
  NcclArrivals arrivals;
  NcclPump pump;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLRANK_H
