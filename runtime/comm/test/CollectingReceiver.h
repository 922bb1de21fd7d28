//===- CollectingReceiver.h - a receiver that keeps everything ------------===//
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

/// A message of tests: room for a frame's header, a number, and bytes that
/// follow from the number.
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

/// Whether the bytes behind the number are those that makeMessage() made.
inline bool isIntact(const Bytes &message) {
  size_t fixed = frameHeaderBytes + sizeof(uint64_t);
  if (message.size() < fixed)
    return false;
  Bytes expected = makeMessage(numberOf(message), message.size() - fixed);
  // The header belongs to whoever emulates links.
  return std::equal(message.begin() + frameHeaderBytes, message.end(),
                    expected.begin() + frameHeaderBytes, expected.end());
}

/// A receiver that keeps all it gets. May go before its communicator, as far as
/// `onTake` allows. Thread-safe.
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

  /// Waits until `ready(messages)`, for at most `patience`; whether it is.
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
  /// Waits for the communication to fail; success if it has not.
  Status waitForFailure(std::chrono::milliseconds patience) {
    std::unique_lock lock(state->mutex);
    state->changed.wait_for(lock, patience,
                            [&] { return state->failures > 0; });
    return state->failure;
  }

  /// All that came, in order.
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
