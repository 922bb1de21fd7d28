//===- RankHeadLinks.cpp - carries out the commands of a rank's head ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/rank/RankHeadLinks.h"

using namespace sluice;
using namespace sluice::pipeline;

/// Records a frame of the head in the trace: its first row's request, its rows,
/// how many of them are certain, and its first node.
static void traceFrame(RoleTrace &trace, trace::Kind kind,
                       const StepFrame &frame) {
  if (frame.rows.empty())
    return;
  int64_t certain = 0;
  for (const Row &row : frame.rows)
    certain += row.certain;
  trace.add(kind, now(), Time(0),
            {frame.rows.front().request, int64_t(frame.rows.size()), certain,
             frame.rows.front().node});
}

Status RankHeadLinks::launch(const StepFrame &frame) {
  traceFrame(trace, trace::Kind::Launch, frame);
  return sender.launch(frame);
}

Status RankHeadLinks::draft(StepFrame frame) {
  traceFrame(trace, trace::Kind::DraftAsked, frame);
  draftWorker->arrive({std::move(frame), {}, {}});
  return {};
}

Status RankHeadLinks::cancel(const EpochMark &mark, Time decided) {
  trace.add(trace::Kind::Cancel, decided, Time(0),
            {mark.request, mark.epoch, mark.confirmed});
  board.publish(mark, decided);
  draftBoard.publish(mark, decided);
  return sender.cancel(mark, decided);
}

void RankHeadLinks::reported(const TokenEvent &token, Time at) {
  trace.add(trace::Kind::Token, at, Time(0), {token.request, token.token});
}

void RankHeadLinks::reported(const RequestEnd &end, Time at) {
  trace.add(trace::Kind::Finish, at, Time(0), {end.slot, int64_t(end.reason)});
}

void RankHeadLinks::note(const PolicyNote &note, Time at) {
  trace.add(trace::Kind::Policy, at, Time(0),
            {note.request, int64_t(note.verdict), note.depth, note.rowsInSlot},
            note.chance);
  trace.add(trace::Kind::Alive, at, Time(0), {note.nodesAlive});
}
