//===- StageDoor.cpp - frames that wait for a stage -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageDoor.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sluice {

namespace {

/// What the frame opens in the slot, or null. Frames open few requests.
const OpenRequest *openedBy(const StepFrame &frame, RequestId request) {
  for (const OpenRequest &open : frame.opens)
    if (open.request == request)
      return &open;
  return nullptr;
}

/// Fills `order` with the indices of the rows by request and node.
void sortRows(const std::vector<Row> &rows, std::vector<int32_t> &order) {
  order.resize(rows.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int32_t index) {
    const Row &row = rows[index];
    return std::tuple(row.request, row.node, index);
  };
  auto before = [&](int32_t a, int32_t b) { return key(a) < key(b); };
  if (!std::is_sorted(order.begin(), order.end(), before))
    std::sort(order.begin(), order.end(), before);
}

} // namespace

StageDoor::StageDoor(const Limits &limits)
    : bounds(limits), slots(static_cast<size_t>(limits.requests)),
      queue(static_cast<size_t>(limits.frames)) {}

Expected<uint64_t> StageDoor::enqueue(StepFrame &frame) {
  if (waiting == bounds.frames)
    return failure("stage: more than ", bounds.frames, " frames are waiting");
  if (Status s = check(frame); !s.ok())
    return s;
  apply(frame);
  WaitingFrame &last = queue[(head + waiting) % bounds.frames];
  std::swap(last.frame, frame);
  frame.clear();
  sortRows(last.frame.rows, last.order);
  last.number = next;
  last.opened = false;
  last.taken = 0;
  ++waiting;
  return next++;
}

void StageDoor::pop() {
  assert(waiting > 0);
  queue[head].frame.clear();
  head = (head + 1) % bounds.frames;
  --waiting;
}

Status StageDoor::checkSlot(RequestId request) const {
  if (request < 0 || request >= bounds.requests)
    return failure("stage: no slot for request ", request, ", of ",
                   bounds.requests);
  return {};
}

Status StageDoor::checkOpens(const StepFrame &frame) const {
  for (const OpenRequest &open : frame.opens) {
    if (Status s = checkSlot(open.request); !s.ok())
      return s;
    if (slots[open.request].open || openedBy(frame, open.request) != &open)
      return failure("stage: request ", open.request, " is open already");
    if (open.firstNode < slots[open.request].nextNode)
      return failure("stage: request ", open.request, " starts at node ",
                     open.firstNode, ", but nodes go on at ",
                     slots[open.request].nextNode);
    if (open.promptTokens < 1 || open.promptTokens > bounds.contextLength)
      return failure("stage: request ", open.request, ": a prompt of ",
                     open.promptTokens, " tokens in a context of ",
                     bounds.contextLength);
  }
  return {};
}

Status StageDoor::checkRow(const StepFrame &frame, const Row &row) const {
  if (Status s = checkSlot(row.request); !s.ok())
    return s;
  const Slot &slot = slots[row.request];
  const OpenRequest *open = slot.open ? nullptr : openedBy(frame, row.request);
  if (!slot.open && !open)
    return failure("stage: a row of request ", row.request,
                   ", which is not open");
  NodeId firstNode = open ? open->firstNode : slot.firstNode;
  constexpr NodeId most = std::numeric_limits<NodeId>::max() / 2;
  bool isFirst = row.parent == noNode;
  if (row.node < firstNode || row.node > most || row.parent >= row.node ||
      (!isFirst && row.parent < firstNode))
    return failure("stage: request ", row.request, " has nodes from ",
                   firstNode, ", but a row ", row.node, " behind ", row.parent);
  if (row.position < 0 || row.position >= bounds.contextLength)
    return failure("stage: request ", row.request, ": position ", row.position,
                   " is not in the context of ", bounds.contextLength);
  if (isFirst != (row.position == 0) || (isFirst && !row.certain))
    return failure("stage: request ", row.request, ": row ", row.node,
                   " at position ", row.position,
                   isFirst ? " has no parent" : " has one");
  if (row.token < 0)
    return failure("stage: request ", row.request, ": token ", row.token,
                   " is negative");
  return {};
}

Status StageDoor::checkCloses(const StepFrame &frame) const {
  for (auto at = frame.closes.begin(); at != frame.closes.end(); ++at) {
    if (Status s = checkSlot(*at); !s.ok())
      return s;
    if ((!slots[*at].open && !openedBy(frame, *at)) ||
        std::find(frame.closes.begin(), at, *at) != at)
      return failure("stage: request ", *at, " closes but is not open");
  }
  return {};
}

Status StageDoor::check(const StepFrame &frame) const {
  if (Status s = checkOpens(frame); !s.ok())
    return s;
  for (const EpochMark &mark : frame.marks)
    if (Status s = checkSlot(mark.request); !s.ok())
      return s;
  if (std::ssize(frame.rows) > std::numeric_limits<int32_t>::max())
    return failure("stage: ", frame.rows.size(), " rows in a frame");
  for (const Row &row : frame.rows)
    if (Status s = checkRow(frame, row); !s.ok())
      return s;
  return checkCloses(frame);
}

void StageDoor::apply(const StepFrame &frame) {
  for (const OpenRequest &open : frame.opens)
    slots[open.request] = {true, open.firstNode, open.firstNode};
  for (const Row &row : frame.rows) {
    Slot &slot = slots[row.request];
    slot.nextNode = std::max(slot.nextNode, row.node + 1);
  }
  for (RequestId request : frame.closes)
    slots[request].open = false;
}

} // namespace sluice
