//===- ReceiverGate.h - a receiver whose callbacks can be stopped ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_RECEIVERGATE_H
#define SLUICE_RUNTIME_COMM_RECEIVERGATE_H

#include "runtime/comm/Communicator.h"

#include <mutex>

namespace sluice::comm {

/// Stands between a communicator's thread and its receiver, so that
/// Communicator::detach() can promise that no callback runs any more.
/// Thread-safe.
class ReceiverGate {
public:
  /// Returns a receiver that forwards to `given` until close(). Messages that
  /// come afterwards go to `dropped`, if it is set. Called once.
  Communicator::Receiver
  open(Communicator::Receiver given,
       std::function<void(const Message &)> dropped = {}) {
    std::lock_guard lock(mutex);
    receiver = std::move(given);
    drop = std::move(dropped);
    isOpen = true;
    return {[this](int64_t source) {
              std::lock_guard lock(mutex);
              return !isOpen || receiver.roomFor(source);
            },
            [this](Message message) {
              std::lock_guard lock(mutex);
              if (isOpen)
                receiver.take(std::move(message));
              else if (drop)
                drop(message);
            },
            [this](Status status) {
              std::lock_guard lock(mutex);
              if (isOpen)
                receiver.failed(std::move(status));
            }};
  }

  /// Stops forwarding, after a callback that is running has returned.
  void close() {
    std::lock_guard lock(mutex);
    isOpen = false;
    receiver = {};
  }

private:
  std::mutex mutex;
  Communicator::Receiver receiver;
  std::function<void(const Message &)> drop;
  bool isOpen = false;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_RECEIVERGATE_H
