//===- HeadGuesses.cpp - launches guesses to the first stage --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/HeadState.h"

#include <algorithm>

namespace sluice {

//===----------------------------------------------------------------------===//
// Guesses, Async mode
//===----------------------------------------------------------------------===//

/// Returns whether guesses of the request may leave, whatever they are worth.
bool Head::State::mayGuess(const HeadRequest &request) const {
  if (!request.active || !request.rootInFlight() || request.treeFull)
    return false;
  return options.continuous || request.burst < options.draftRows;
}

/// Returns the likeliest waiting guess whose parent is in flight: with
/// `tooDeep` among the guesses beyond the depth limit, else among those within
/// it.
GuessNode *Head::State::bestWaiting(HeadRequest *&owner, bool tooDeep) {
  GuessNode *best = nullptr;
  for (HeadRequest &request : requests) {
    if (!mayGuess(request))
      continue;
    std::span<GuessNode> nodes = request.tree.nodes();
    for (GuessNode &node : nodes.subspan(1))
      if (!node.launched && (node.depth > options.depth) == tooDeep &&
          nodes[static_cast<size_t>(node.parentIndex)].launched &&
          (!best || node.pathChance > best->pathChance)) {
        best = &node;
        owner = &request;
      }
  }
  return best;
}

/// Sends all guesses that the policy lets through as one frame, likeliest
/// first.
void Head::State::sendGuesses(Time now) {
  for (HeadRequest &request : requests) {
    request.treeFull = false;
    if (request.tree.launched() == 0)
      request.burst = 0;
  }
  if (!guessesCanPay())
    return;
  // The wake-up is set even if no guess waits: one may come before the slot
  // opens.
  if (clock.opens() > now) {
    wakeAt(clock.opens());
    return;
  }
  uint64_t slot = clock.gatheringSlot();
  countSlots(slot);
  StepFrame *frame = nullptr;
  HeadRequest *owner = nullptr;
  GuessNode *guess = nullptr;
  while ((guess = bestWaiting(owner, false))) {
    Verdict verdict =
        canNumber(*owner, *guess)
            ? policy.judge(guess->pathChance, guess->depth, load, guessesAlive)
            : Verdict::NodeLimit;
    if (verdict == Verdict::TooUnlikely && owner->probeDue &&
        owner->tree.launched() == 0)
      verdict = Verdict::Probe;
    bool sends = verdict == Verdict::Sent || verdict == Verdict::Probe;
    if (sends && !frame &&
        framesSent + 1 - framesGone >=
            static_cast<uint64_t>(limits.framesInFlight))
      break;
    note(*owner, *guess, verdict);
    if (verdict == Verdict::NodeLimit) {
      owner->treeFull = true;
      continue;
    }
    if (!sends) {
      if (verdict == Verdict::WaitsForSlot)
        wakeAt(slot == clock.runningSlot() ? clock.opens()
                                           : clock.opensNext(policy));
      break;
    }
    if (!frame)
      frame = &newFrame();
    sendGuess(*owner, *guess, *frame, slot, now);
    countSlots(slot);
  }
  if (!guess && wantsNotes)
    if (GuessNode *deep = bestWaiting(owner, true))
      note(*owner, *deep, Verdict::DepthLimit);
  if (frame)
    finishGuesses(*frame);
}

void Head::State::sendGuess(HeadRequest &request, GuessNode &guess,
                            StepFrame &frame, uint64_t slot, Time now) {
  request.probeDue = false;
  request.guessSent = true;
  ++request.burst;
  count(request, &SpeculationCounters::launched);
  number(request, guess);
  guess.launched = true;
  // All rows of a frame are in one step, also if the first row starts the slot.
  if (frame.rows.empty())
    guess.slot = clock.join(1, now, policy);
  else
    clock.widen(guess.slot = slot, 1, policy);
  frame.rows.push_back(rowOf(request, guess, false));
}

/// Sorts the rows and adds a mark for each request that has rows in the frame.
void Head::State::finishGuesses(StepFrame &frame) {
  std::sort(
      frame.rows.begin(), frame.rows.end(), [](const Row &a, const Row &b) {
        return a.request != b.request ? a.request < b.request : a.node < b.node;
      });
  for (const Row &row : frame.rows)
    if (frame.marks.empty() || frame.marks.back().request != row.request)
      frame.marks.push_back(markOf(requests[static_cast<size_t>(row.request)]));
}

void Head::State::note(const HeadRequest &request, const GuessNode &node,
                       Verdict verdict) {
  if (!wantsNotes || lastVerdict == verdict)
    return;
  lastVerdict = verdict;
  commands.notes.push_back({.request = idOf(request),
                            .verdict = verdict,
                            .chance = node.pathChance,
                            .depth = node.depth,
                            .rowsInSlot = load.rows,
                            .nodesAlive = guessesAlive});
}

//===----------------------------------------------------------------------===//
// Batches, Sync mode
//===----------------------------------------------------------------------===//

/// Sends the batch of each request whose last batch has returned and whose tree
/// is complete.
void Head::State::sendBatches(Time now) {
  for (HeadRequest &request : requests)
    if (request.active && request.promptSent() && !request.rootInFlight() &&
        request.outstanding == 0 && !levelIsSent(request))
      sendBatch(request, now);
}

void Head::State::sendBatch(HeadRequest &request, Time now) {
  StepFrame *frame = nullptr;
  for (GuessNode &node : request.tree.nodes()) {
    bool certain = node.parentIndex < 0;
    if (!frame || options.splitRows) {
      frame = &newFrame();
      frame->marks.push_back(markOf(request));
    }
    number(request, node);
    node.launched = true;
    node.slot = clock.join(1, now, policy);
    count(request, &SpeculationCounters::launched, !certain);
    ++request.outstanding;
    frame->rows.push_back(rowOf(request, node, certain));
  }
  request.lastCertain = request.tree.root().node;
  request.travelsAlone = active == 1 && request.outstanding == 1;
  request.launchedAt = now;
}

} // namespace sluice
