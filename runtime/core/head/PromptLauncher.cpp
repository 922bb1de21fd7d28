//===- PromptLauncher.cpp - launches the rows of prompts in chunks --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/PromptLauncher.h"

#include <algorithm>

namespace sluice {

/// Prompts get at least so many rows of a step, however many requests generate,
/// if no inter-token latency is set.
constexpr int64_t minPromptRows = 16;
/// Prompts may lengthen a step of other requests by 1/promptShare of its time,
/// whatever inter-token latency is set.
constexpr int64_t promptShare = 4;

PromptLauncher::PromptLauncher(const HeadLimits &limits,
                               const StepTimes &predicted,
                               RequestTable &requests, RequestPages &pages,
                               FramesUnderWay &frames, SlotOccupancy &slots,
                               const CertainLauncher &certain,
                               HeadCommands &commands)
    : limits(limits), requests(requests), pages(pages), frames(frames),
      slots(slots), certain(certain), commands(commands), times(predicted) {
  queue.reserve(static_cast<size_t>(limits.requests));
}

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

void PromptLauncher::add(const HeadRequest &request) {
  auto queuePriority = [this](RequestId each) {
    return requests[each].spec.queuePriority;
  };
  queue.insert(std::ranges::upper_bound(queue, request.spec.queuePriority, {},
                                        queuePriority),
               request.id);
}

void PromptLauncher::remove(const HeadRequest &request) {
  if (!request.promptSent())
    std::erase(queue, request.id);
}

void PromptLauncher::setQueuePriority(HeadRequest &request,
                                      const QueuePriority &queuePriority) {
  const bool isQueued = std::erase(queue, request.id) > 0;
  request.spec.queuePriority = queuePriority;
  if (isQueued)
    add(request);
}

//===----------------------------------------------------------------------===//
// What a step takes
//===----------------------------------------------------------------------===//

void PromptLauncher::measure(const ResultFrame &answer) {
  if (auto step = frames.measure(answer))
    times.measure(step->rows, step->positions, step->took);
}

/// Returns whether another chunk of a prompt may leave. Each stage has one
/// chunk. If no request generates, as many more are on the links or in the
/// mailboxes, so that no stage waits. Chunks that are kept short leave one by
/// one, because two in a mailbox would become one step.
bool PromptLauncher::mayLaunch(bool joinsFrame, Time now) {
  if (queue.empty() || !frames.hasRoom() ||
      (limits.stages == 1 && !joinsFrame && certain.waitsForOthers()))
    return false;
  const bool othersGenerate = requests.generating() > 0;
  int64_t chunks = frames.countPrompts();
  if (chunks >= (othersGenerate ? limits.stages : 2 * limits.stages))
    return false;
  bool isShort = othersGenerate && limits.interTokenLatency > Time(0);
  if (isShort && chunks > 0 && slots.opens() > now) {
    commands.wakeAt(slots.opens());
    return false;
  }
  return true;
}

/// Returns the next step as it is without prompts: with a row of each
/// generating request in it. Prompts advance whatever inter-token latency is
/// set: they may lengthen the step by 1/promptShare.
PromptLauncher::Step PromptLauncher::planStep() const {
  int64_t others = requests.rowsPerStep();
  Step step = {.rows = others, .positions = requests.positionsPerStep()};
  step.room = std::max(std::min(minPromptRows, limits.prefillRows),
                       limits.prefillRows - others);
  step.outputs = std::max<int64_t>(1, limits.outputs - others);
  if (requests.generating() > 0 && limits.interTokenLatency > Time(0)) {
    Time without = times.get(step.rows, step.positions);
    step.max = std::max(limits.interTokenLatency / limits.stages,
                        without + without / promptShare);
  }
  return step;
}

/// Returns the sum of the positions of `rows` consecutive rows.
static int64_t positionsOf(int64_t first, int64_t rows) {
  return rows * first + rows * (rows - 1) / 2;
}

/// Returns how many known rows of the request the step can take in addition.
int64_t PromptLauncher::rowsThatFit(const Step &step,
                                    const HeadRequest &request) const {
  int64_t room = request.spec.unscored() > 0 ? std::min(step.room, step.outputs)
                                             : step.room;
  if (!step.max)
    return room;
  auto time = [&](int64_t rows) {
    return times.get(step.rows + rows,
                     step.positions + positionsOf(request.knownSent, rows));
  };
  int64_t fits = 0;
  for (int64_t above = room + 1; above - fits > 1;) {
    int64_t middle = fits + (above - fits) / 2;
    (time(middle) <= *step.max ? fits : above) = middle;
  }
  return fits;
}

/// Returns the request with the fewest known rows to send, or null. A request
/// whose rows want outputs counts only if the step has outputs left.
HeadRequest *PromptLauncher::soonestDone(const Step &step) {
  HeadRequest *soonest = nullptr;
  for (RequestId id : queue) {
    HeadRequest &request = requests[id];
    if (request.spec.unscored() > 0 && step.outputs <= 0)
      continue;
    if (!soonest || request.rowsToSend() < soonest->rowsToSend())
      soonest = &request;
  }
  return soonest;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

StepFrame *PromptLauncher::launch(StepFrame *frame, Time now) {
  while (mayLaunch(/*joinsFrame=*/frame, now)) {
    Step step = planStep();
    HeadRequest &first = requests[queue.front()];
    frame = &frameToOpenIn(frame, first, now);
    int64_t fits = std::max<int64_t>(1, rowsThatFit(step, first));
    addKnownRows(step, first, *frame, queue.size() > 1 ? (fits + 1) / 2 : fits);
    while (HeadRequest *next = soonestDone(step)) {
      fits = rowsThatFit(step, *next);
      if (fits == 0)
        break;
      frame = &frameToOpenIn(frame, *next, now);
      addKnownRows(step, *next, *frame, std::min(fits, next->rowsToSend()));
    }
    slots.giveSlot(*frame, /*hasPrompt=*/true, now);
    frame = nullptr;
  }
  return frame;
}

/// Returns the frame in which the request may open. That is a new frame if
/// `frame` orders to pin a page that the request begins with.
StepFrame &PromptLauncher::frameToOpenIn(StepFrame *frame,
                                         const HeadRequest &request, Time now) {
  if (!frame)
    frame = &frames.launch();
  if (request.openAtStages ||
      !pages.ledger().beginsWithAny(request.id, frame->pins))
    return *frame;
  if (!frame->rows.empty())
    slots.giveSlot(*frame, /*hasPrompt=*/true, now);
  return frames.launch();
}

/// Sends up to `max` known rows of the request in that step.
void PromptLauncher::addKnownRows(Step &step, HeadRequest &request,
                                  StepFrame &frame, int64_t max) {
  int64_t first = request.knownSent;
  int64_t rows = launchKnownRows(request, frame, max);
  int64_t positions = positionsOf(first, rows);
  step.rows += rows;
  step.room -= rows;
  if (request.spec.unscored() > 0)
    step.outputs -= rows;
  else if (request.promptSent())
    --step.outputs; // the last row gives a token
  step.positions += positions;
  frames.addPromptRows(rows, positions);
}

/// Tells the stages about the request, and which pages it begins with.
void PromptLauncher::open(HeadRequest &request, StepFrame &frame) {
  const PageLedger &ledger = pages.ledger();
  OpenRequest &open = frame.opens.emplace_back(request.opening());
  open.prefixPages.resize(static_cast<size_t>(ledger.prefixPages(request.id)));
  ledger.prefixOf(request.id, open.prefixPages);
  for (int64_t i = 0; i < request.knownSent; ++i)
    open.prefix.push_back(request.path[static_cast<size_t>(i)].token);
}

/// Sends up to `max` known rows of the request and returns how many. Once the
/// last of them has left, its root is launched.
int64_t PromptLauncher::launchKnownRows(HeadRequest &request, StepFrame &frame,
                                        int64_t max) {
  int64_t rows = std::min(max, request.knownRows - request.knownSent);
  if (!std::exchange(request.openAtStages, true))
    open(request, frame);
  if (std::exchange(request.markedIn, frame.launched) != frame.launched)
    frame.marks.push_back(request.mark());
  const RequestSpec &spec = request.spec;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t position = request.knownSent++;
    bool isScored = spec.scoresPrompt && position + 1 >= spec.scored &&
                    position + 1 < std::ssize(spec.prompt);
    const PathEntry &entry = request.path[static_cast<size_t>(position)];
    frame.rows.push_back({.node = entry.node,
                          .parent = position > 0 ? entry.node - 1 : noNode,
                          .request = request.id,
                          .position = static_cast<int32_t>(position),
                          .token = entry.token,
                          .certain = true,
                          .wantsOutput = isScored});
  }
  if (!request.promptSent()) {
    pages.noteChunk(request, frame.step, frame.rows.back().node);
    return rows;
  }
  requests.notePromptSent(request);
  std::erase(queue, request.id);
  frame.rows.back().wantsOutput = true;
  request.tree.root().launched = true;
  return rows;
}

} // namespace sluice
