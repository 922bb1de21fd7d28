//===- HeadLaunch.cpp - what leaves for the first stage -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/HeadState.h"

#include <algorithm>
#include <cassert>

namespace sluice {

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Counts the living rows of each slot; `joined` is the one that more rows
/// would join.
void Head::State::countSlots(uint64_t joined) {
  slotsSeen.clear();
  int64_t prompts = 0;
  load = {};
  for (HeadRequest &request : requests) {
    request.weight = 0;
    if (!request.active)
      continue;
    for (const GuessNode &node : request.tree.nodes()) {
      if (!node.launched)
        continue;
      slotsSeen.push_back(node.slot);
      if (node.slot == joined)
        request.weight = std::max(request.weight, node.pathChance);
    }
    if (request.rootInFlight() && request.emitted == 0)
      prompts =
          std::max(prompts, std::min(limits.prefillRows, request.promptRows()));
    load.weight += request.weight;
  }
  std::sort(slotsSeen.begin(), slotsSeen.end());
  runningLiving = 0;
  load.widest = prompts;
  for (auto at = slotsSeen.begin(); at != slotsSeen.end();) {
    auto next = std::find_if(at, slotsSeen.end(),
                             [at](uint64_t each) { return each != *at; });
    int64_t rows = next - at;
    ++load.underWay;
    if (*at == joined)
      load.rows = rows;
    else
      load.widest = std::max(load.widest, rows);
    if (*at == clock.runningSlot())
      runningLiving = rows;
    at = next;
  }
}

void Head::State::sendCancels(Time now) {
  for (HeadRequest &request : requests)
    if (std::exchange(request.cancelDue, false) && options.cancel)
      commands.cancels.push_back(markOf(request));
  if (!std::exchange(rowsDied, false) || !options.cancel)
    return;
  countSlots(clock.gatheringSlot());
  clock.setLiving(runningLiving, load.rows, now, policy);
}

//===----------------------------------------------------------------------===//
// Certain rows
//===----------------------------------------------------------------------===//

StepFrame &Head::State::newFrame() {
  StepFrame &frame = commands.launches.emplace_back();
  frame.step = framesSent++;
  return frame;
}

Row Head::State::rowOf(const HeadRequest &request, const GuessNode &node,
                       bool certain) const {
  return {.node = node.node,
          .parent = node.parent,
          .request = idOf(request),
          .position = node.position,
          .token = node.token,
          .certain = certain,
          .wantsOutput = true};
}

/// Roots whose tokens have just become known, each alone.
void Head::State::sendCertain(Time now) {
  for (HeadRequest &request : requests) {
    if (!std::exchange(request.launchDue, false))
      continue;
    countSlots(clock.gatheringSlot());
    request.travelsAlone = load.underWay == 0;
    request.launchedAt = now;
    GuessNode &root = request.tree.root();
    root.launched = true;
    root.frame = framesSent;
    root.slot = clock.join(1, now, policy);
    request.lastCertain = root.node;
    StepFrame &frame = newFrame();
    frame.marks.push_back(markOf(request));
    frame.rows.push_back(rowOf(request, root, true));
  }
}

/// Whether a result is to come that will say how far frames have come.
bool Head::State::awaitsResult(const HeadRequest &request) const {
  if (!request.active)
    return false;
  size_t every = static_cast<size_t>(limits.framesInFlight / 2);
  for (size_t chunk = every; chunk <= request.promptFrames.size();
       chunk += every)
    if (request.promptFrames[chunk - 1] >= framesGone)
      return true;
  return request.rootInFlight();
}

/// Whether there is room for one more frame. Only the result of a living row
/// makes room; where there is none to come, all that was sent is dead and waits
/// for nothing.
bool Head::State::hasRoom() const {
  return framesSent - framesGone <
             static_cast<uint64_t>(limits.framesInFlight) ||
         std::none_of(
             requests.begin(), requests.end(),
             [this](const HeadRequest &each) { return awaitsResult(each); });
}

void Head::State::sendPrompts(Time now) {
  for (HeadRequest &request : requests)
    while (request.active && !request.promptLeft() && hasRoom())
      sendPromptChunk(request, now);
}

void Head::State::sendPromptChunk(HeadRequest &request, Time now) {
  RequestId id = idOf(request);
  int64_t rows =
      std::min(limits.prefillRows, request.promptRows() - request.promptSent);
  uint64_t slot = clock.joinAlone(rows, now, policy);
  // A long prompt has to hear now and then how far it has come, or there would
  // never be room for the rest of it.
  int64_t chunk = static_cast<int64_t>(request.promptFrames.size());
  bool asks = (chunk + 1) % (limits.framesInFlight / 2) == 0;
  request.promptFrames.push_back(framesSent);
  StepFrame &frame = newFrame();
  if (request.promptSent == 0)
    frame.opens.push_back(
        {.request = id,
         .firstNode = request.firstNode,
         .promptTokens = static_cast<int32_t>(request.promptRows()),
         .logProbabilities = request.spec.logProbabilities,
         .sampling = request.spec.sampling});
  frame.marks.push_back(markOf(request));
  frame.rows.reserve(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    int64_t position = request.promptSent++;
    const PathEntry &entry = request.path[static_cast<size_t>(position)];
    frame.rows.push_back({.node = entry.node,
                          .parent = position > 0 ? entry.node - 1 : noNode,
                          .request = id,
                          .position = static_cast<int32_t>(position),
                          .token = entry.token,
                          .certain = true,
                          .wantsOutput = asks && i + 1 == rows});
  }
  if (!request.promptLeft())
    return;
  frame.rows.back().wantsOutput = true;
  GuessNode &root = request.tree.root();
  root.launched = true;
  root.frame = frame.step;
  root.slot = slot;
}

//===----------------------------------------------------------------------===//
// Guesses, Async mode
//===----------------------------------------------------------------------===//

/// Whether guesses of the request may leave, apart from what they are worth.
bool Head::State::mayGuess(const HeadRequest &request) const {
  if (!request.active || !request.rootInFlight() || request.treeFull)
    return false;
  return options.continuous || request.burst < options.draftRows;
}

/// The likeliest guess that waits and whose parent is in flight, of those
/// within the depth limit or of those beyond.
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

/// Sends, likeliest first, all guesses that the policy lets through, as one
/// frame.
void Head::State::sendGuesses(Time now) {
  for (HeadRequest &request : requests) {
    request.treeFull = false;
    if (request.tree.launched() == 0)
      request.burst = 0;
  }
  // Also where none waits: one may have come before the slot opens.
  if (clock.opens() > now) {
    commands.wake = clock.opens();
    return;
  }
  uint64_t slot = clock.gatheringSlot();
  countSlots(slot);
  StepFrame *frame = nullptr;
  HeadRequest *owner = nullptr;
  GuessNode *guess = nullptr;
  while ((guess = bestWaiting(owner, false))) {
    int64_t alive = owner->tree.launched();
    Verdict verdict =
        canNumber(*owner, *guess)
            ? policy.judge(guess->pathChance, guess->depth, load, alive)
            : Verdict::NodeLimit;
    if (verdict == Verdict::TooUnlikely && owner->probeDue && alive == 0)
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
        commands.wake = slot == clock.runningSlot() ? clock.opens()
                                                    : clock.opensNext(policy);
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
  ++request.counters.launched;
  number(request, guess);
  guess.launched = true;
  guess.frame = frame.step;
  // All rows of a frame go into one step, also where the first starts it.
  if (frame.rows.empty())
    guess.slot = clock.join(1, now, policy);
  else
    clock.widen(guess.slot = slot, 1, policy);
  frame.rows.push_back(rowOf(request, guess, false));
}

/// Rows in order, and a mark for each request that has some.
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
                            .nodesAlive = request.tree.launched()});
}

//===----------------------------------------------------------------------===//
// Batches, Sync mode
//===----------------------------------------------------------------------===//

/// Roots that are known and have their trees, once the last batch is through.
void Head::State::sendBatches(Time now) {
  for (HeadRequest &request : requests)
    if (request.active && request.promptLeft() && !request.rootInFlight() &&
        request.outstanding == 0 && !levelLeft(request))
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
    node.frame = frame->step;
    node.slot = clock.join(1, now, policy);
    request.counters.launched += !certain;
    ++request.outstanding;
    frame->rows.push_back(rowOf(request, node, certain));
  }
  request.lastCertain = request.tree.root().node;
  request.travelsAlone = request.outstanding == 1;
  request.launchedAt = now;
}

} // namespace sluice
