//===- Invariants.cpp - invariants that are checked during a run ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Invariants.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

Status ArrivalOrder::arrive(uint64_t number) {
  if (number < latest)
    return failure("message ", number, " was overtaken by message ", latest);
  latest = number;
  return {};
}

//===----------------------------------------------------------------------===//
// RowTurns
//===----------------------------------------------------------------------===//

RowTurns::RowTurns(int64_t requests, int64_t stages)
    : launched(static_cast<size_t>(requests)),
      seen(static_cast<size_t>(stages) + 1,
           std::vector<Turn>(static_cast<size_t>(requests))),
      latest(static_cast<size_t>(requests)) {}

Status RowTurns::checkParent(const Row &row) {
  const Launched &known = launched[static_cast<size_t>(row.request)];
  auto parent = static_cast<size_t>(row.parent - known.firstNode);
  if (row.parent == known.prefixEnd ||
      (row.parent >= known.firstNode && parent < known.nodes.size() &&
       known.nodes[parent]))
    return {};
  return failure("request ", row.request, ": row ", row.node,
                 " leaves before its parent, row ", row.parent);
}

Status RowTurns::launch(const StepFrame &frame) {
  for (const OpenRequest &open : frame.opens) {
    NodeId first = open.firstNode + std::ssize(open.prefix);
    launched[static_cast<size_t>(open.request)] = {
        first, open.prefix.empty() ? noNode : first - 1, {}};
  }
  for (const Row &row : frame.rows) {
    Launched &known = launched[static_cast<size_t>(row.request)];
    if (row.node < known.firstNode)
      return failure("request ", row.request, ": row ", row.node,
                     " leaves, but its rows begin at ", known.firstNode);
    auto at = static_cast<size_t>(row.node - known.firstNode);
    known.nodes.resize(std::max(known.nodes.size(), at + 1));
    known.nodes[at] = true;
    RowName name{row.request, row.node};
    framesOf[name].push_back(frame.launched);
    underWay.emplace_back(frame.launched, name);
  }
  for (const Row &row : frame.rows)
    SLUICE_RETURN_IF_ERROR(checkParent(row));
  return {};
}

/// Takes the rows of one message, in any order, that arrive at a place.
Status RowTurns::take(size_t place, std::span<const RowName> rows) {
  std::vector<Turn> &before = seen[place];
  for (const RowName &row : rows)
    latest[static_cast<size_t>(row.request)] =
        before[static_cast<size_t>(row.request)];
  for (const RowName &row : rows) {
    auto frames = framesOf.find(row);
    if (frames == framesOf.end())
      return failure("request ", row.request, ": row ", row.node,
                     " has come out of turn: it is not under way");
    // A row that was launched twice may arrive from the later launch only.
    const Turn &last = before[static_cast<size_t>(row.request)];
    auto frame = std::ranges::find_if(frames->second, [&](uint64_t each) {
      return Turn{each, row.node} > last;
    });
    if (frame == frames->second.end())
      return failure("request ", row.request, ": row ", row.node,
                     " has come out of turn, behind row ", last.node);
    Turn &reached = latest[static_cast<size_t>(row.request)];
    reached = std::max(reached, {*frame, row.node});
  }
  for (const RowName &row : rows)
    before[static_cast<size_t>(row.request)] =
        latest[static_cast<size_t>(row.request)];
  return {};
}

Status RowTurns::arrive(int64_t stage, const StepFrame &frame) {
  names.clear();
  for (const Row &row : frame.rows)
    names.push_back({row.request, row.node});
  return take(static_cast<size_t>(stage), names);
}

Status RowTurns::answer(const ResultFrame &frame) {
  names.clear();
  for (const ResultRow &result : frame.results)
    names.push_back({result.request, result.node});
  SLUICE_RETURN_IF_ERROR(take(seen.size() - 1, names));
  forget(frame.launched);
  return {};
}

/// Removes the rows of the head's first `gone` frames, which have passed all
/// stages.
void RowTurns::forget(uint64_t gone) {
  for (; !underWay.empty() && underWay.front().first <= gone;
       underWay.pop_front()) {
    auto found = framesOf.find(underWay.front().second);
    found->second.erase(found->second.begin());
    if (found->second.empty())
      framesOf.erase(found);
  }
}

//===----------------------------------------------------------------------===//
// Deadlines
//===----------------------------------------------------------------------===//

void Deadlines::submit(RequestNumber number, std::optional<Time> deadline,
                       Time now) {
  requests[number] = {deadline, now};
}

Status Deadlines::takeUp(Time came) const {
  for (const auto &[number, request] : requests)
    if (request.deadline && came > std::max(*request.deadline, request.known))
      return failure("request number ", number, " goes on ",
                     (came - *request.deadline).count(),
                     " ns after its deadline");
  return {};
}

Status Deadlines::end(const RequestEnd &end, Time now) {
  auto found = requests.find(end.number);
  if (found == requests.end())
    return failure("request number ", end.number, " ends, but is not there");
  Request request = found->second;
  requests.erase(found);
  bool isOver = request.deadline && *request.deadline <= now;
  bool hasWaited = !end.started && queueTimeout > Time(0) &&
                   request.known + queueTimeout <= now;
  if (end.reason == FinishReason::Timeout && !isOver && !hasWaited)
    return failure("request number ", end.number,
                   " ends as a timeout before its deadline");
  return {};
}
