//===- StageMailbox.h - frames that wait for a stage ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue of frames before a stage. Frames are checked as they come in, so
// that whatever gets to the stage is consistent: opens and closes of each slot
// take turns, and so do pins and unpins of each shared page; rows belong to
// what is open, parents come before children.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGEMAILBOX_H
#define SLUICE_RUNTIME_CORE_STAGEMAILBOX_H

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
  bool begun = false;         ///< its unpins, opens and marks have been taken
  int64_t taken = 0;          ///< rows taken, in `order`
};

/// A queue of a fixed number of frames, whose room is used again. Allocates
/// nothing once the frames have room. Thread-compatible.
class StageMailbox {
public:
  struct Limits {
    int64_t frames = 0;
    int64_t requests = 0;
    int64_t contextLength = 0;
    int64_t sharedPages = 0;
  };
  explicit StageMailbox(const Limits &limits);

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
    NodeId firstNode = 0; ///< behind the prefix
    NodeId nextNode = 0;  ///< above all that were seen
    int32_t prefix = 0;   ///< tokens before the first row

    /// The parent of the first row.
    NodeId prefixEnd() const { return prefix > 0 ? firstNode - 1 : noNode; }
  };

  /// A shared page, likewise.
  struct Page {
    static constexpr int32_t notPinned = -1;
    int32_t index = notPinned; ///< which page of its path is pinned
  };

  /// Entries that a frame changes, in which it is undone if it turns out wrong.
  template <typename Entry> class Table {
  public:
    explicit Table(int64_t count)
        : agreed(static_cast<size_t>(count)), changed(agreed),
          changedIn(agreed.size()) {
      touched.reserve(agreed.size());
    }

    /// As the frame has left it so far.
    Entry &operator[](int32_t at) {
      if (changedIn[at] != round) {
        changedIn[at] = round;
        changed[at] = agreed[at];
        touched.push_back(at);
      }
      return changed[at];
    }
    void agree() {
      for (int32_t at : touched)
        agreed[at] = changed[at];
      undo();
    }
    void undo() {
      touched.clear();
      ++round;
    }

  private:
    std::vector<Entry> agreed, changed;
    std::vector<uint64_t> changedIn; ///< the round of changed[at]
    std::vector<int32_t> touched;    ///< in this round
    uint64_t round = 1;
  };

  Status check(const StepFrame &frame);
  Status checkUnpin(SharedPage page);
  Status checkOpen(const OpenRequest &open);
  Status checkPrefix(const OpenRequest &open);
  Status checkRow(const Row &row);
  Status checkPin(const PinPage &pin);
  Status checkClose(RequestId request);
  Status checkSlot(RequestId request) const;
  Status checkPage(SharedPage page) const;

  Limits bounds;
  Table<Slot> slots; ///< [request]
  Table<Page> pages; ///< [shared page]
  std::vector<WaitingFrame> queue;
  int64_t head = 0;
  int64_t waiting = 0;
  uint64_t next = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STAGEMAILBOX_H
