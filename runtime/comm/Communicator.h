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
//   data     steps and results: in order, bounded. Who sends faster than
//            the other side takes waits (back-pressure).
//   control  cancels, errors, reports, the end: in order among themselves, and
//            overtake data. Mostly small.
//   group    what ranks that compute a stage together tell each other in the
//            midst of a step: in order, bounded, past the other lanes. No
//            callback gets it: who expects a message waits in receive().
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

/// Device memory that has come with a message; only nccl/NcclCommunicator.h
/// brings some, and it goes back there.
struct DevicePayload {
  uint64_t address = 0; ///< a cuda::DeviceAddress
  int64_t bytes = 0;    ///< 0: none
  int64_t source = 0;   ///< whose it was, and which of theirs
  uint64_t number = 0;
};

struct Message {
  int64_t source = 0;
  Lane lane = Lane::Data;
  Bytes bytes;
  DevicePayload payload = {};
};

/// What has gone out on one directed pair of ranks, for `traffic`.
struct Traffic {
  int64_t to = 0;
  uint64_t dataMessages = 0, dataBytes = 0;
  uint64_t controlMessages = 0, controlBytes = 0;
  uint64_t groupMessages = 0, groupBytes = 0;
};

/// Data messages on their way to one rank before a sender waits.
constexpr int64_t defaultCapacity = 32;

/// The longest message.
constexpr int64_t defaultMessageBytes = int64_t{256} << 20;

struct CommunicatorOptions {
  /// Data messages from one rank to another that have not been taken before
  /// their sender waits, and as many of a group. An implementation may hold a
  /// few more than that.
  int64_t capacity = defaultCapacity;
  /// Control messages from one rank to another that have not left or been taken
  /// before send() refuses more.
  int64_t controlLimit = 16384;
  /// The longest message.
  int64_t messageBytes = defaultMessageBytes;
  /// MPI: how often a rank says that it is alive, and after what silence it is
  /// taken for lost.
  std::chrono::milliseconds heartbeat{500};
  std::chrono::milliseconds silence{3500};
  /// MPI: the longest sleep between two looks for messages; a message can wait
  /// that long after a pause. Shorter costs processor time.
  std::chrono::microseconds idleSleep{200};
};

/// One rank's end. All methods but start() are thread-safe. Destroying it
/// before finish() has succeeded breaks the job for all others, as abort()
/// does.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Callbacks, all on one thread of the communicator, one at a time. They must
  /// not block; they may send control messages, but not data. What they refer
  /// to must live until detach(): `failed` can come as long as the communicator
  /// is there.
  ///
  /// Messages come in order for each source and lane. A data message is given
  /// as soon as there is room: `roomFor(source)` is asked before each, and
  /// while it says no the message stays with the communicator, and in the end
  /// with its sender. A control message does not wait for room.
  ///
  /// `failed` is called once, when the communication is broken: a lost peer, or
  /// another rank's abort(), whose reason it names. Control messages that came
  /// before it have been given; data messages may be lost. Nothing comes after
  /// it. A rank's own abort() does not call it.
  struct Receiver {
    std::function<bool(int64_t source)> roomFor;
    std::function<void(Message)> take;
    std::function<void(Status)> failed;
  };
  /// Starts to receive; once, and before finish().
  virtual void start(Receiver receiver) = 0;
  /// Ends the callbacks: waits for one that is running; after that there are no
  /// more, and what still arrives is dropped. Not from a callback, and not
  /// under a lock that one takes. Nothing where none can come; may be called
  /// again.
  virtual void detach() = 0;
  /// roomFor() may answer otherwise now. Cheap; may be called from callbacks.
  virtual void roomChanged() = 0;

  /// Queues a message for `to`. Data and group: blocks while `capacity`
  /// messages of that lane to that rank are on their way. Control: never
  /// blocks. `emulatedBytes`: where links are emulated, the message counts as
  /// that long; 0: as long as it is. Errors: the communication has failed or
  /// ended (with the reason), no such rank, a message over a limit.
  virtual Status send(int64_t to, Lane lane, Bytes bytes,
                      int64_t emulatedBytes = 0) = 0;

  /// Takes the next message of the group lane that `source` sends, into
  /// `bytes`; what was there is lost. Waits for it: first a moment in the
  /// processor, as the members of a group come at about the same time. One
  /// thread at a time. Errors: the communication has failed (with the reason)
  /// or ended, stopReceiving(), or nothing has come until `end`; `bytes` is
  /// then empty. What is there is taken, however late.
  virtual Status receive(int64_t source, Bytes &bytes,
                         Deadline end = noDeadline) = 0;
  /// receive() fails from now on, also where it waits. Cheap; may be called
  /// again.
  virtual void stopReceiving() = 0;

  /// All ranks: returns once every rank has called it and the receivers have
  /// taken every message; emulated links: once this rank's receiver has. What
  /// was sent on the group lane has been received before.
  /// Errors: it failed, or `patience` is over: then the job is broken.
  virtual Status finish(std::chrono::milliseconds patience) = 0;

  /// Ends the whole job from any rank and thread. Others' receivers get
  /// `failed` with this rank and `reason`. Returns at once. Where ranks are
  /// processes, they and this one end with status 1 within a second or two, so
  /// say first what is to be said. Only the first call counts.
  virtual void abort(const Status &reason) = 0;

  virtual std::vector<Traffic> traffic() const = 0;

  /// Buffers for messages to send; those that have been received go back here.
  virtual BufferPool &buffers() = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_COMMUNICATOR_H
