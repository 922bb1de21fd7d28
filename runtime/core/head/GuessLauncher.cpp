//===- GuessLauncher.cpp - launches guesses behind certain rows -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/GuessLauncher.h"

#include <algorithm>

namespace sluice {

GuessLauncher::GuessLauncher(const HeadLimits &limits,
                             const SpeculationOptions &options,
                             const SpeculationPolicy &policy,
                             RequestTable &requests, FramesUnderWay &frames,
                             SlotOccupancy &slots, HeadCommands &commands,
                             bool wantsNotes)
    : limits(limits), options(options), policy(policy), requests(requests),
      frames(frames), slots(slots), commands(commands), wantsNotes(wantsNotes) {
}

/// Returns whether guesses of the request may leave, whatever they are worth.
bool GuessLauncher::mayGuess(const HeadRequest &request) const {
  if (!request.active || !request.rootInFlight() || request.treeFull)
    return false;
  return options.continuous || request.burst < options.draftRows;
}

/// Returns the likeliest waiting guess whose parent is in flight: with
/// `tooDeep` among the guesses beyond the depth limit, else among those within
/// it.
GuessLauncher::Waiting GuessLauncher::findBest(bool tooDeep) {
  Waiting best;
  for (HeadRequest &request : requests) {
    if (!mayGuess(request))
      continue;
    std::span<GuessNode> nodes = request.tree.nodes();
    for (GuessNode &node : nodes.subspan(1))
      if (!node.launched && (node.depth > options.depth) == tooDeep &&
          nodes[static_cast<size_t>(node.parentIndex)].launched &&
          (!best.guess || node.pathChance > best.guess->pathChance))
        best = {&request, &node};
  }
  return best;
}

/// Decides whether the guess joins the slot of the last count.
Verdict GuessLauncher::judge(const Waiting &waiting) const {
  const HeadRequest &owner = *waiting.owner;
  const GuessNode &guess = *waiting.guess;
  if (!owner.canNumber(guess, numberSpan(options)))
    return Verdict::NodeLimit;
  Verdict verdict = policy.judge(guess.pathChance, guess.depth, slots.load(),
                                 slots.guessesAlive());
  if (verdict == Verdict::TooUnlikely && owner.probeDue &&
      owner.tree.launched() == 0)
    return Verdict::Probe;
  return verdict;
}

void GuessLauncher::launch(Time now) {
  for (HeadRequest &request : requests) {
    request.treeFull = false;
    if (request.tree.launched() == 0)
      request.burst = 0;
  }
  if (!policy.canPay(requests.rowsPerStep(), limits.stages))
    return;
  // The wake-up is set even if no guess waits: one may come before the slot
  // opens.
  if (slots.opens() > now) {
    commands.wakeAt(slots.opens());
    return;
  }
  const uint64_t slot = slots.gatheringSlot();
  slots.count(slot);
  StepFrame *frame = nullptr;
  Waiting waiting;
  while ((waiting = findBest(/*tooDeep=*/false)).guess) {
    Verdict verdict = judge(waiting);
    bool sends = verdict == Verdict::Sent || verdict == Verdict::Probe;
    if (sends && !frame && !frames.hasRoom(2))
      break;
    note(waiting, verdict);
    if (verdict == Verdict::NodeLimit) {
      waiting.owner->treeFull = true;
      continue;
    }
    if (!sends) {
      if (verdict == Verdict::WaitsForSlot)
        commands.wakeAt(slot == slots.runningSlot() ? slots.opens()
                                                    : slots.opensNext());
      break;
    }
    if (!frame)
      frame = &frames.launch();
    add(waiting, *frame, slot, now);
    slots.count(slot);
  }
  if (!waiting.guess && wantsNotes)
    if (Waiting deep = findBest(/*tooDeep=*/true); deep.guess)
      note(deep, Verdict::DepthLimit);
  if (frame)
    finish(*frame);
}

/// Adds the guess to the frame, whose rows after the first join `slot`.
void GuessLauncher::add(const Waiting &waiting, StepFrame &frame, uint64_t slot,
                        Time now) {
  HeadRequest &request = *waiting.owner;
  GuessNode &guess = *waiting.guess;
  request.probeDue = false;
  request.guessSent = true;
  ++request.burst;
  requests.count(request, &SpeculationCounters::launched);
  request.number(guess);
  guess.launched = true;
  guess.slot = slots.giveSlotToGuess(frame, slot, now);
  frame.rows.push_back(request.row(guess, /*certain=*/false));
}

/// Sorts the rows and adds a mark for each request that has rows in the frame.
void GuessLauncher::finish(StepFrame &frame) {
  frame.sortRows();
  for (const Row &row : frame.rows)
    if (frame.marks.empty() || frame.marks.back().request != row.request)
      frame.marks.push_back(requests[row.request].mark());
}

void GuessLauncher::note(const Waiting &waiting, Verdict verdict) {
  if (!wantsNotes || lastVerdict == verdict)
    return;
  lastVerdict = verdict;
  commands.notes.push_back({.request = waiting.owner->id,
                            .verdict = verdict,
                            .chance = waiting.guess->pathChance,
                            .depth = waiting.guess->depth,
                            .rowsInSlot = slots.load().rows,
                            .nodesAlive = slots.guessesAlive()});
}

} // namespace sluice
