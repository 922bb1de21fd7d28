//===- Communicator.h - messages between ranks ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries messages between the ranks of a job. Three lanes lead from each rank
// to each rank, itself included:
//
//   data     Steps and results. They arrive in order and are bounded: a sender
//            that is faster than the receiver waits (backpressure).
//   control  Cancels, errors, reports and the end of the job. They arrive in
//            order among themselves, and overtake data. Most are small.
//   group    Messages between the ranks of a tensor-parallel group in the midst
//            of a step. They arrive in order, are bounded, and bypass the other
//            lanes. No callback gets them: a member waits for one in receive().
//
//   Expected<std::unique_ptr<Communicator>> made = ...;
//   comm->start(receiver);                    // from here on messages arrive
//   comm->send(1, Lane::Data, std::move(bytes));
//   comm->finish(patience);                   // all ranks, at the end
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_COMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/comm/Bytes.h"

#include <chrono>
#include <functional>
#include <vector>

namespace sluice::comm {

enum class Lane : uint8_t { Data, Control, Group };

using Deadline = std::chrono::steady_clock::time_point;
constexpr Deadline noDeadline = Deadline::max();

/// Device memory that has come with a message. Only NcclCommunicator
/// (nccl/NcclCommunicator.h) sets it, and the memory is given back there.
struct DevicePayload {
  uint64_t address = 0; ///< a cuda::DeviceAddress
  int64_t bytes = 0;    ///< 0 if there is no payload
  /// The rank that sent it, and how many payloads that rank sent before it.
  int64_t source = 0;
  uint64_t number = 0;
};

struct Message {
  int64_t source = 0;
  Lane lane = Lane::Data;
  Bytes bytes;
  DevicePayload payload = {};
};

/// Counts the messages that have left on one directed pair of ranks; see
/// Communicator::traffic().
struct Traffic {
  int64_t to = 0;
  uint64_t dataMessages = 0, dataBytes = 0;
  uint64_t controlMessages = 0, controlBytes = 0;
  uint64_t groupMessages = 0, groupBytes = 0;
};

/// How many data messages may be under way to one rank before a sender waits.
constexpr int64_t defaultCapacity = 32;

/// The longest message, in bytes.
constexpr int64_t defaultMessageBytes = int64_t{256} << 20;

struct CommunicatorOptions {
  /// How many data messages from one rank to another may be untaken before
  /// their sender waits; the same limit holds for the group lane. An
  /// implementation may hold a few more.
  int64_t capacity = defaultCapacity;
  /// How many control messages from one rank to another may be unsent or
  /// untaken before send() refuses more.
  int64_t controlLimit = 16384;
  /// The longest message, in bytes.
  int64_t messageBytes = defaultMessageBytes;
  /// For MPI: how often a rank sends a heartbeat, and after how long a silence
  /// another rank counts as lost.
  std::chrono::milliseconds heartbeat{500};
  std::chrono::milliseconds silence{3500};
  /// For MPI: the longest sleep between two polls for messages. A message that
  /// comes after a pause can wait that long; a shorter sleep costs processor
  /// time.
  std::chrono::microseconds idleSleep{200};
};

/// One rank's end of the job. All methods but start() are thread-safe.
/// Destroying a communicator before finish() has succeeded breaks the job for
/// all other ranks, as abort() does.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// The callbacks. All of them run on one thread of the communicator, one at a
  /// time. They must not block; they may send control messages, but no data.
  /// What they refer to must live until detach(), since `failed` can be called
  /// as long as the communicator lives.
  ///
  /// Messages of the same source and lane come in order. A data message is
  /// delivered as soon as there is room: `roomFor(source)` is asked before
  /// each. While it returns false, the message stays with the communicator, and
  /// in the end with its sender. A control message does not wait for room.
  ///
  /// `failed` is called once, when the communication has broken: a peer is
  /// lost, or another rank has called abort(), whose reason the status names.
  /// Control messages that came before the failure have been delivered; data
  /// messages may be lost. No callback comes after it. A rank's own abort()
  /// does not call it.
  struct Receiver {
    std::function<bool(int64_t source)> roomFor;
    std::function<void(Message)> take;
    std::function<void(Status)> failed;
  };
  /// Starts to receive. Called once, before finish().
  virtual void start(Receiver receiver) = 0;
  /// Ends the callbacks. It waits for a callback that is running; after it
  /// returns there are no more, and messages that still arrive are dropped. It
  /// must not be called from a callback, nor under a lock that a callback
  /// takes. Does nothing if no callback can come; may be called again.
  virtual void detach() = 0;
  /// Says that roomFor() may have a new answer. Cheap; may be called from
  /// callbacks.
  virtual void roomChanged() = 0;

  /// Queues a message for rank `to`. On the data and group lanes, it blocks
  /// while `capacity` messages of that lane to that rank are under way; on the
  /// control lane, it never blocks. If `emulatedBytes` is not 0, emulated links
  /// count the message as that long instead of its real length. Errors: the
  /// communication has failed (with the reason) or ended, there is no such
  /// rank, or the message exceeds a limit.
  virtual Status send(int64_t to, Lane lane, Bytes bytes,
                      int64_t emulatedBytes = 0) = 0;

  /// Takes the next message that `source` has sent on the group lane, into
  /// `bytes`, whose old content is lost. Blocks until there is one. It first
  /// spins for a moment, since the members of a group reach the same call at
  /// about the same time. One thread at a time.
  ///
  /// Errors: the communication has failed (with the reason) or ended,
  /// stopReceiving() has been called, or no message has come until `end`;
  /// `bytes` is then empty. A message that is already here is taken even after
  /// `end`.
  virtual Status receive(int64_t source, Bytes &bytes,
                         Deadline end = noDeadline) = 0;
  /// Makes receive() fail from now on, also in a thread that waits in it.
  /// Cheap; may be called again.
  virtual void stopReceiving() = 0;

  /// Ends the job in order; called by all ranks. Returns once every rank has
  /// called it and the receivers have taken every message; with emulated links,
  /// once this rank's receiver has. All messages of the group lane must have
  /// been received before. Errors: the communication has failed, or `patience`
  /// has passed; the job is then broken.
  virtual Status finish(std::chrono::milliseconds patience) = 0;

  /// Ends the whole job, from any rank and thread, and returns at once. The
  /// receivers of the other ranks get `failed` with this rank and `reason`.
  /// Where ranks are processes, all of them end with status 1 within a second
  /// or two, so report what has to be reported before the call. Only the first
  /// call counts.
  virtual void abort(const Status &reason) = 0;

  virtual std::vector<Traffic> traffic() const = 0;

  /// Buffers for messages to send; buffers of received messages are given back
  /// here.
  virtual BufferPool &buffers() = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_COMMUNICATOR_H
