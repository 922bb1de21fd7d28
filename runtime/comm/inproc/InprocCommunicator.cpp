//===- InprocCommunicator.cpp - ranks as threads of one process -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/inproc/InprocCommunicator.h"

#include "runtime/base/Guarded.h"
#include "runtime/comm/ReceiverGate.h"
#include "runtime/comm/inproc/InprocHub.h"

#include <cassert>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

namespace {

class InprocCommunicator final : public Communicator {
public:
  InprocCommunicator(std::shared_ptr<InprocHub> hub, int64_t rank)
      : hub(std::move(hub)), self(rank) {}

  ~InprocCommunicator() override {
    hub->leave(self);
    hub->stop(self);
    if (thread.joinable())
      thread.join();
  }

  int64_t rank() const override { return self; }
  int64_t size() const override { return hub->size(); }

  void start(Receiver receiver) override {
    assert(!thread.joinable() && "start() is called once");
    thread = std::thread([this, gated = gate.open(std::move(receiver))] {
      Status ended = guarded([&] {
        hub->deliver(self, gated);
        return Status();
      });
      if (ended.ok())
        return;
      hub->abort(self, ended);
      gated.failed(ended);
    });
  }

  void detach() override {
    gate.close();
    hub->roomChanged(self); // delivers what is dropped from now on
  }

  void roomChanged() override { hub->roomChanged(self); }

  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t /*emulatedBytes*/) override {
    return hub->send(self, to, lane, std::move(bytes));
  }

  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return hub->receive(self, source, bytes, end);
  }

  void stopReceiving() override { hub->stopReceiving(self); }

  Status finish(std::chrono::milliseconds patience) override {
    return hub->finish(self, patience);
  }

  void abort(const Status &reason) override { hub->abort(self, reason); }

  std::vector<Traffic> traffic() const override { return hub->traffic(self); }

  BufferPool &buffers() override { return hub->buffers; }

private:
  std::shared_ptr<InprocHub> hub;
  int64_t self;
  ReceiverGate gate;
  std::thread thread;
};

} // namespace

std::vector<std::unique_ptr<Communicator>>
comm::makeInprocJob(int64_t size, const CommunicatorOptions &options) {
  auto hub = std::make_shared<InprocHub>(size, options);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int64_t rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<InprocCommunicator>(hub, rank));
  return ranks;
}
