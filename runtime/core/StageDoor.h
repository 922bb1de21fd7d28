//===- StageDoor.h - frames that wait for a stage -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue of frames before a stage. Frames are checked as they come in, so
// that whatever gets to the stage is consistent: opens and closes of each slot
// take turns, rows belong to what is open, parents come before children.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGEDOOR_H
#define SLUICE_RUNTIME_CORE_STAGEDOOR_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// A frame that waits, and how far the stage has come with it.
struct WaitingFrame {
  StepFrame frame;
  std::vector<int32_t> order; ///< frame.rows by request and node
  uint64_t number = 0;        ///< of all frames, from 0
  bool opened = false;        ///< its opens and marks have been taken
  int64_t taken = 0;          ///< rows taken, in `order`
};

/// A queue of a fixed number of frames, whose room is used again. Allocates
/// nothing once the frames have room. Thread-compatible.
class StageDoor {
public:
  struct Limits {
    int64_t frames = 0;
    int64_t requests = 0;
    int64_t contextLength = 0;
  };
  explicit StageDoor(const Limits &limits);

  /// Puts the frame's content into the queue; `frame` has an old frame's room
  /// afterwards, and nothing in it. Returns its number. Errors, and then
  /// nothing has changed: the queue is full, or a frame that cannot be right.
  Expected<uint64_t> enqueue(StepFrame &frame);

  bool empty() const { return waiting == 0; }
  int64_t size() const { return waiting; }
  WaitingFrame &front() { return queue[head]; }
  const WaitingFrame &back() const {
    return queue[(head + waiting - 1) % bounds.frames];
  }
  void pop();

  /// The number of the frame in front, or, where none waits, of the next.
  uint64_t frontNumber() const { return next - static_cast<uint64_t>(waiting); }

private:
  /// A slot for requests, once all that is queued has been done.
  struct Slot {
    bool open = false;
    NodeId firstNode = 0;
    NodeId nextNode = 0; ///< above all that were seen
  };

  Status check(const StepFrame &frame) const;
  Status checkOpens(const StepFrame &frame) const;
  Status checkRow(const StepFrame &frame, const Row &row) const;
  Status checkCloses(const StepFrame &frame) const;
  Status checkSlot(RequestId request) const;
  void apply(const StepFrame &frame);

  Limits bounds;
  std::vector<Slot> slots; ///< [request]
  std::vector<WaitingFrame> queue;
  int64_t head = 0;
  int64_t waiting = 0;
  uint64_t next = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STAGEDOOR_H
