//===- StageMailbox.h - the queue of frames before a stage ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue of frames before a stage. Frames are checked as they arrive, so a
// stage only gets consistent ones: opens and closes of each slot alternate, and
// so do pins and unpins of each shared page; rows belong to open slots, and
// parents come before their children.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGEMAILBOX_H
#define SLUICE_RUNTIME_CORE_STAGEMAILBOX_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// A queued frame, and how much of it the stage has taken.
struct WaitingFrame {
  StepFrame frame;
  std::vector<int32_t> order; ///< indices of frame.rows by request and node
  uint64_t number = 0;        ///< its position among all frames, from 0
  bool begun = false; ///< whether its unpins, opens and marks have been taken
  int64_t taken = 0;  ///< rows taken, in `order`
};

/// A queue of a fixed number of frames whose memory is reused. Allocates
/// nothing once the frames have grown to their sizes. Thread-compatible.
class StageMailbox {
public:
  struct Limits {
    int64_t frames = 0;
    int64_t requests = 0;
    int64_t contextLength = 0;
    int64_t sharedPages = 0;
  };
  explicit StageMailbox(const Limits &limits);

  /// Moves the frame's content into the queue and returns its number. `frame`
  /// is left empty, with the memory of an old frame. Fails, and changes
  /// nothing, if the queue is full or the frame is inconsistent.
  Expected<uint64_t> enqueue(StepFrame &frame);

  bool empty() const { return waiting == 0; }
  int64_t size() const { return waiting; }
  WaitingFrame &front() { return queue[head]; }
  const WaitingFrame &back() const {
    return queue[(head + waiting - 1) % bounds.frames];
  }
  void pop();

  /// Returns the number of the front frame, or of the next one if the queue is
  /// empty.
  uint64_t frontNumber() const { return next - static_cast<uint64_t>(waiting); }

private:
  /// The state of a slot after all queued frames.
  struct Slot {
    bool open = false;
    NodeId firstNode = 0; ///< the node of the first row after the prefix
    NodeId nextNode = 0;  ///< above all nodes so far
    int32_t prefix = 0;   ///< length of the prefix, in tokens

    /// Returns the parent of the first row.
    NodeId prefixEnd() const { return prefix > 0 ? firstNode - 1 : noNode; }
  };

  /// The state of a shared page after all queued frames.
  struct Page {
    static constexpr int32_t notPinned = -1;
    /// The index of the page on its request's path, or notPinned.
    int32_t index = notPinned;
  };

  /// Entries that a frame changes; the changes are undone if the frame is
  /// refused.
  template <typename Entry> class Table {
  public:
    explicit Table(int64_t count)
        : agreed(static_cast<size_t>(count)), changed(agreed),
          changedIn(agreed.size()) {
      touched.reserve(agreed.size());
    }

    /// Returns the entry with the changes by the present frame.
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
    /// The round in which changed[at] was written.
    std::vector<uint64_t> changedIn;
    std::vector<int32_t> touched; ///< entries changed in this round
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
