//===- StageMailbox.cpp - the queue of frames before a stage --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageMailbox.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {

namespace {

/// Node numbers stay far below what 64 bits hold.
constexpr NodeId maxNode = std::numeric_limits<NodeId>::max() / 2;

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

StageMailbox::StageMailbox(const Limits &limits)
    : bounds(limits), slots(limits.requests), pages(limits.sharedPages),
      queue(static_cast<size_t>(limits.frames)) {}

Expected<uint64_t> StageMailbox::enqueue(StepFrame &frame) {
  if (waiting == bounds.frames)
    return failure("stage: more than ", bounds.frames, " frames are waiting");
  if (Status s = check(frame); !s.ok()) {
    slots.undo();
    pages.undo();
    return s;
  }
  slots.agree();
  pages.agree();
  WaitingFrame &last = queue[(head + waiting) % bounds.frames];
  std::swap(last.frame, frame);
  frame.clear();
  sortRows(last.frame.rows, last.order);
  last.number = next;
  last.begun = false;
  last.taken = 0;
  ++waiting;
  return next++;
}

void StageMailbox::pop() {
  assert(waiting > 0);
  queue[head].frame.clear();
  head = (head + 1) % bounds.frames;
  --waiting;
}

Status StageMailbox::checkSlot(RequestId request) const {
  if (request < 0 || request >= bounds.requests)
    return failure("stage: no slot for request ", request, ", of ",
                   bounds.requests);
  return {};
}

Status StageMailbox::checkPage(SharedPage page) const {
  if (page < 0 || page >= bounds.sharedPages)
    return failure("stage: no shared page ", page, ", of ", bounds.sharedPages);
  return {};
}

/// Checks the frame and applies it to the tables, in the order in which a stage
/// carries it out.
Status StageMailbox::check(const StepFrame &frame) {
  auto checkAll = [this](const auto &list, auto checkOne) -> Status {
    for (const auto &each : list)
      SLUICE_RETURN_IF_ERROR((this->*checkOne)(each));
    return {};
  };
  SLUICE_RETURN_IF_ERROR(checkAll(frame.unpins, &StageMailbox::checkUnpin));
  SLUICE_RETURN_IF_ERROR(checkAll(frame.opens, &StageMailbox::checkOpen));
  for (const EpochMark &mark : frame.marks)
    SLUICE_RETURN_IF_ERROR(checkSlot(mark.request));
  if (std::ssize(frame.rows) > std::numeric_limits<int32_t>::max())
    return failure("stage: ", frame.rows.size(), " rows in a frame");
  SLUICE_RETURN_IF_ERROR(checkAll(frame.rows, &StageMailbox::checkRow));
  SLUICE_RETURN_IF_ERROR(checkAll(frame.pins, &StageMailbox::checkPin));
  return checkAll(frame.closes, &StageMailbox::checkClose);
}

Status StageMailbox::checkUnpin(SharedPage page) {
  SLUICE_RETURN_IF_ERROR(checkPage(page));
  if (std::exchange(pages[page].index, Page::notPinned) == Page::notPinned)
    return failure("stage: shared page ", page, " is unpinned but not pinned");
  return {};
}

Status StageMailbox::checkOpen(const OpenRequest &open) {
  SLUICE_RETURN_IF_ERROR(checkSlot(open.request));
  Slot &slot = slots[open.request];
  if (slot.open)
    return failure("stage: request ", open.request, " is open already");
  if (open.firstNode < slot.nextNode || open.firstNode > maxNode)
    return failure("stage: request ", open.request, " starts at node ",
                   open.firstNode, ", but nodes go on at ", slot.nextNode);
  if (open.promptTokens < 1 || open.promptTokens > bounds.contextLength)
    return failure("stage: request ", open.request, ": a prompt of ",
                   open.promptTokens, " tokens in a context of ",
                   bounds.contextLength);
  if (open.knownTokens < open.promptTokens ||
      open.knownTokens > bounds.contextLength)
    return failure("stage: request ", open.request, ": ", open.knownTokens,
                   " known tokens with a prompt of ", open.promptTokens,
                   " in a context of ", bounds.contextLength);
  if (!open.scored.empty() && std::ssize(open.scored) != open.promptTokens)
    return failure("stage: request ", open.request, ": ", open.scored.size(),
                   " tokens to score in a prompt of ", open.promptTokens);
  SLUICE_RETURN_IF_ERROR(checkPrefix(open));
  NodeId first = open.firstNode + std::ssize(open.prefix);
  slot = {true, first, first, static_cast<int32_t>(open.prefix.size())};
  return {};
}

Status StageMailbox::checkPrefix(const OpenRequest &open) {
  int64_t tokens = std::ssize(open.prefix);
  if (tokens != std::ssize(open.prefixPages) * CachePages::pageTokens ||
      tokens >= open.knownTokens)
    return failure("stage: request ", open.request, ": a prefix of ", tokens,
                   " tokens in ", open.prefixPages.size(), " pages, with ",
                   open.knownTokens, " known");
  for (int32_t at = 0; at < std::ssize(open.prefixPages); ++at) {
    SharedPage page = open.prefixPages[at];
    SLUICE_RETURN_IF_ERROR(checkPage(page));
    if (int32_t index = pages[page].index; index != at)
      return failure("stage: request ", open.request, ": page ", at,
                     " of its prefix is shared page ", page, ", which is ",
                     index == Page::notPinned
                         ? "not pinned"
                         : "page " + std::to_string(index) + " of its path");
  }
  for (int32_t token : open.prefix)
    if (token < 0)
      return failure("stage: request ", open.request, ": token ", token,
                     " is negative");
  return {};
}

Status StageMailbox::checkRow(const Row &row) {
  SLUICE_RETURN_IF_ERROR(checkSlot(row.request));
  Slot &slot = slots[row.request];
  if (!slot.open)
    return failure("stage: a row of request ", row.request,
                   ", which is not open");
  bool isFirst = row.parent == slot.prefixEnd();
  if (row.node < slot.firstNode || row.node > maxNode ||
      row.parent >= row.node || (!isFirst && row.parent < slot.firstNode))
    return failure("stage: request ", row.request, " has nodes from ",
                   slot.firstNode, ", but a row ", row.node, " behind ",
                   row.parent);
  if (row.position < slot.prefix || row.position >= bounds.contextLength)
    return failure("stage: request ", row.request, ": position ", row.position,
                   " is not in the context of ", bounds.contextLength,
                   slot.prefix > 0
                       ? ", behind a prefix of " + std::to_string(slot.prefix)
                       : "");
  if (isFirst != (row.position == slot.prefix) || (isFirst && !row.certain))
    return failure("stage: request ", row.request, ": row ", row.node,
                   " at position ", row.position,
                   isFirst ? " has no parent" : " has one");
  if (isFirst && row.node != slot.firstNode)
    return failure("stage: request ", row.request, ": its first row is ",
                   slot.firstNode, ", not ", row.node);
  if (row.token < 0)
    return failure("stage: request ", row.request, ": token ", row.token,
                   " is negative");
  slot.nextNode = std::max(slot.nextNode, row.node + 1);
  return {};
}

Status StageMailbox::checkPin(const PinPage &pin) {
  SLUICE_RETURN_IF_ERROR(checkSlot(pin.request));
  SLUICE_RETURN_IF_ERROR(checkPage(pin.page));
  const Slot &slot = slots[pin.request];
  if (!slot.open)
    return failure("stage: shared page ", pin.page, " is pinned of request ",
                   pin.request, ", which is not open");
  if (pin.node < slot.firstNode || pin.node >= slot.nextNode)
    return failure("stage: request ", pin.request, " has nodes from ",
                   slot.firstNode, " to ", slot.nextNode - 1, ", but page ",
                   pin.index, " is pinned of node ", pin.node);
  if (pin.index < 0 ||
      (int64_t{pin.index} + 1) * CachePages::pageTokens > bounds.contextLength)
    return failure("stage: request ", pin.request, ": page ", pin.index,
                   " is pinned in a context of ", bounds.contextLength);
  if (std::exchange(pages[pin.page].index, pin.index) != Page::notPinned)
    return failure("stage: shared page ", pin.page, " is pinned already");
  return {};
}

Status StageMailbox::checkClose(RequestId request) {
  SLUICE_RETURN_IF_ERROR(checkSlot(request));
  if (!std::exchange(slots[request].open, false))
    return failure("stage: request ", request, " closes but is not open");
  return {};
}

} // namespace sluice
