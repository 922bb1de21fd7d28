//===- CertainLauncher.cpp - launches the rows of confirmed tokens --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/CertainLauncher.h"

#include <algorithm>

namespace sluice {

CertainLauncher::CertainLauncher(const HeadLimits &limits,
                                 const SpeculationPolicy &policy,
                                 RequestTable &requests, FramesUnderWay &frames,
                                 SlotOccupancy &slots, HeadCommands &commands)
    : limits(limits), policy(policy), requests(requests), frames(frames),
      slots(slots), commands(commands) {
  due.reserve(static_cast<size_t>(limits.requests));
}

void CertainLauncher::add(HeadRequest &request) {
  request.launchDue = true;
  due.push_back(request.id);
}

void CertainLauncher::remove(HeadRequest &request) {
  if (std::exchange(request.launchDue, false))
    std::erase(due, request.id);
}

StepFrame *CertainLauncher::launch(Time now) {
  if (due.empty() || waitsForOthers())
    return nullptr;
  int64_t rows = std::ssize(due);
  if (limits.stages > 1) {
    int64_t group = (requests.active() + limits.stages - 1) / limits.stages;
    int64_t room = group - slots.gatheringRows();
    if (room <= 0) {
      commands.wakeAt(slots.opensNext());
      return nullptr;
    }
    rows = std::min(rows, room);
  }
  bool alone = rows == 1 && requests.active() == 1 && slots.isIdle();
  StepFrame &frame = frames.launch();
  // The rows are filled in place: there are many, and a copy that reads back
  // what was just written in narrower pieces would stall the processor.
  frame.marks.resize(static_cast<size_t>(rows));
  frame.rows.resize(static_cast<size_t>(rows));
  int64_t positions = 0;
  for (int64_t i = 0; i < rows; ++i) {
    RequestId id = due[static_cast<size_t>(i)];
    HeadRequest &request = requests[id];
    request.launchDue = false;
    request.travelsAlone = alone;
    request.launchedAt = now;
    GuessNode &root = request.tree.root();
    root.launched = true;
    request.lastCertain = root.node;
    request.markedIn = frame.launched;
    EpochMark &mark = frame.marks[static_cast<size_t>(i)];
    mark.request = id;
    mark.epoch = request.epoch;
    mark.confirmed = root.node;
    Row &row = frame.rows[static_cast<size_t>(i)];
    row.node = root.node;
    row.parent = root.parent;
    row.request = id;
    row.position = root.position;
    row.token = root.token;
    row.certain = row.wantsOutput = true;
    positions += root.position;
  }
  frames.addCertainRows(rows, positions);
  due.erase(due.begin(), due.begin() + rows);
  return &frame;
}

void CertainLauncher::wakeForRest(bool startsSlot) {
  // The rest does not leave at once, because it would be in the same step.
  if (!due.empty() && !waitsForOthers())
    commands.wakeAt(startsSlot ? slots.opens() : slots.opensNext());
}

bool CertainLauncher::waitsForOthers() const {
  if (requests.generating() == 0 ||
      policy.canPay(requests.rowsPerStep(), limits.stages))
    return false;
  return (limits.stages == 1 ? frames.countAll() : frames.countCertain()) >=
         limits.stages;
}

} // namespace sluice
