//===- CollectingReceiver.h - a receiver that keeps all messages ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_TEST_COLLECTINGRECEIVER_H
#define SLUICE_RUNTIME_COMM_TEST_COLLECTINGRECEIVER_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Frame.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>

namespace sluice::comm::test {

/// Makes a test message: room for a frame's header, `number`, and `bytes` bytes
/// that follow from `number`.
inline Bytes makeMessage(uint64_t number, size_t bytes = 0) {
  Bytes message(frameHeaderBytes + sizeof(number) + bytes);
  std::memcpy(message.data() + frameHeaderBytes, &number, sizeof(number));
  uint64_t state = number * 0x9E3779B97F4A7C15u + 1;
  for (size_t i = frameHeaderBytes + sizeof(number); i < message.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    message[i] = static_cast<uint8_t>(state >> 56);
  }
  return message;
}

inline uint64_t numberOf(const Bytes &message) {
  uint64_t number = 0;
  if (message.size() >= frameHeaderBytes + sizeof(number))
    std::memcpy(&number, message.data() + frameHeaderBytes, sizeof(number));
  return number;
}

/// Returns whether the bytes after the number are those that makeMessage()
/// wrote.
inline bool isIntact(const Bytes &message) {
  size_t fixed = frameHeaderBytes + sizeof(uint64_t);
  if (message.size() < fixed)
    return false;
  Bytes expected = makeMessage(numberOf(message), message.size() - fixed);
  // Emulated links write into the header, so it is not compared.
  return std::equal(message.begin() + frameHeaderBytes, message.end(),
                    expected.begin() + frameHeaderBytes, expected.end());
}

/// A receiver that keeps all messages. It may be destroyed before its
/// communicator if `onTake` allows that. Thread-safe.
class CollectingReceiver {
public:
  /// `onTake` is called with each message, on the communicator's thread, before
  /// it is kept.
  explicit CollectingReceiver(Communicator &comm,
                              std::function<void(const Message &)> onTake = {})
      : comm(comm), state(std::make_shared<State>()) {
    state->onTake = std::move(onTake);
    state->room.resize(static_cast<size_t>(comm.size()), true);
    comm.start({[state = state](int64_t source) {
                  std::lock_guard lock(state->mutex);
                  return bool(state->room[source]);
                },
                [state = state](Message message) {
                  if (state->onTake)
                    state->onTake(message);
                  std::lock_guard lock(state->mutex);
                  state->messages.push_back(std::move(message));
                  state->changed.notify_all();
                },
                [state = state](Status status) {
                  std::lock_guard lock(state->mutex);
                  if (++state->failures == 1)
                    state->failure = std::move(status);
                  state->changed.notify_all();
                }});
  }

  void setRoom(int64_t source, bool isThere) {
    {
      std::lock_guard lock(state->mutex);
      state->room[source] = isThere;
    }
    comm.roomChanged();
  }

  /// Waits until `ready(messages)` holds, for at most `patience`; returns
  /// whether it does.
  template <typename Ready>
  bool waitFor(Ready ready,
               std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    std::unique_lock lock(state->mutex);
    return state->changed.wait_for(lock, patience,
                                   [&] { return ready(state->messages); });
  }
  bool waitForCount(size_t count) {
    return waitFor([&](const auto &all) { return all.size() >= count; });
  }
  /// Waits until the communication fails, and returns the error; success if it
  /// has not failed.
  Status waitForFailure(std::chrono::milliseconds patience) {
    std::unique_lock lock(state->mutex);
    state->changed.wait_for(lock, patience,
                            [&] { return state->failures > 0; });
    return state->failure;
  }

  /// Returns all messages in the order in which they came.
  std::vector<Message> all() {
    std::lock_guard lock(state->mutex);
    return state->messages;
  }
  int64_t failureCount() {
    std::lock_guard lock(state->mutex);
    return state->failures;
  }

private:
  struct State {
    std::function<void(const Message &)> onTake;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<char> room;
    std::vector<Message> messages;
    Status failure;
    int64_t failures = 0;
  };

  Communicator &comm;
  std::shared_ptr<State> state;
};

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_TEST_COLLECTINGRECEIVER_H
