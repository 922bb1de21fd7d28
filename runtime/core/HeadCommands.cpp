//===- HeadCommands.cpp - the commands and events of the head -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Head.h"

namespace sluice {

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    return "cancelled";
  case FinishReason::Timeout:
    return "timeout";
  case FinishReason::Error:
    break;
  }
  return "error";
}

SpeculationCounters &
SpeculationCounters::operator+=(const SpeculationCounters &more) {
  launched += more.launched;
  accepted += more.accepted;
  cancelled += more.cancelled;
  computedDead += more.computedDead;
  epochs += more.epochs;
  drafted += more.drafted;
  return *this;
}

StepFrame &FrameList::add() {
  if (used == frames.size())
    frames.emplace_back();
  frames[used].clear();
  return frames[used++];
}

void HeadCommands::clear() {
  cancels.clear();
  launches.clear();
  drafts.clear();
  tokens.clear();
  finished.clear();
  preempted.clear();
  notes.clear();
  wake.reset();
}

} // namespace sluice
