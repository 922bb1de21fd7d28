//===- RowsInPayloads.h - test messages whose tail is in device memory ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_TEST_ROWSINPAYLOADS_H
#define SLUICE_RUNTIME_COMM_NCCL_TEST_ROWSINPAYLOADS_H

#include "runtime/comm/nccl/NcclCommunicator.h"

#include <memory>
#include <mutex>

namespace sluice::comm::test {

/// Makes the conformance suite use what NCCL carries. The bytes of a data
/// message after its number (test/CollectingReceiver.h) travel through device
/// memory, and are appended again before the receiver gets the message. Control
/// messages, and data messages without such bytes, have no payload.
class RowsInPayloads final : public Communicator {
public:
  /// A message's payload has at most this many bytes.
  static constexpr int64_t payloadLimit = int64_t{8} << 20;

  /// Takes ownership of the device, and destroys it last.
  static Expected<std::unique_ptr<Communicator>>
  make(std::unique_ptr<cuda::Device> device,
       std::unique_ptr<NcclCommunicator> inner);
  ~RowsInPayloads() override;

  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }
  void start(Receiver receiver) override;
  void detach() override { inner->detach(); }
  void roomChanged() override { inner->roomChanged(); }
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override;
  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return inner->receive(source, bytes, end);
  }
  void stopReceiving() override { inner->stopReceiving(); }
  Status finish(std::chrono::milliseconds patience) override {
    return inner->finish(patience);
  }
  void abort(const Status &reason) override { inner->abort(reason); }
  std::vector<Traffic> traffic() const override { return inner->traffic(); }
  BufferPool &buffers() override { return inner->buffers(); }

private:
  RowsInPayloads() = default;
  void take(Message message);

  std::unique_ptr<cuda::Device> device;
  std::unique_ptr<NcclCommunicator> inner;
  std::mutex sending;
  cuda::DeviceAddress rows = 0; ///< of the message that is being sent
  cuda::Stream sendStream = nullptr, receiveStream = nullptr;
  Receiver receiver;
};

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_ROWSINPAYLOADS_H
