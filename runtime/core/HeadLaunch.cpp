//===- HeadLaunch.cpp - launches certain rows and prompts -----------------===//
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

/// Counts the living rows of each slot; `joined` is the slot that new rows
/// would join.
void Head::State::countSlots(uint64_t joined) {
  slotsSeen.clear();
  int64_t prompts = 0;
  load = {};
  guessesAlive = 0;
  for (HeadRequest &request : requests) {
    request.weight = 0;
    if (!request.active)
      continue;
    for (const GuessNode &node : request.tree.nodes()) {
      if (!node.launched)
        continue;
      guessesAlive += node.parentIndex >= 0;
      addToSlot(node.slot);
      if (node.slot == joined)
        request.weight = std::max(request.weight, node.pathChance);
    }
    if (request.rootInFlight() && request.inPrompt())
      prompts =
          std::max(prompts, std::min(limits.prefillRows, request.knownRows));
    load.weight += request.weight;
  }
  runningLiving = 0;
  load.widest = prompts;
  load.underWay = std::ssize(slotsSeen);
  for (const SlotRows &each : slotsSeen) {
    if (each.slot == joined)
      load.rows = each.rows;
    else
      load.widest = std::max(load.widest, each.rows);
    if (each.slot == clock.runningSlot())
      runningLiving = each.rows;
  }
}

/// Counts a row in its slot. There are few slots under way, because rows come
/// back in the order in which they left.
void Head::State::addToSlot(uint64_t slot) {
  for (SlotRows &each : slotsSeen)
    if (each.slot == slot) {
      ++each.rows;
      return;
    }
  slotsSeen.push_back({slot, 1});
}

void Head::State::sendCancels(Time now) {
  if (!std::exchange(rowsDied, false) || !options.cancel)
    return;
  for (HeadRequest &request : requests)
    if (std::exchange(request.cancelDue, false))
      commands.cancels.push_back(markOf(request));
  countSlots(clock.gatheringSlot());
  clock.setLiving(runningLiving, load.rows, now, policy);
}

//===----------------------------------------------------------------------===//
// Certain rows
//===----------------------------------------------------------------------===//

/// Appends a frame; it carries the pending orders to pin and unpin pages.
StepFrame &Head::State::newFrame() {
  StepFrame &frame = commands.launches.add();
  frame.step = framesSent++;
  frame.launched = framesSent;
  ledger.takeOrders(frame.pins, frame.unpins);
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

/// Sends the roots whose tokens have just become known. Returns their frame, or
/// null. They leave as one frame, so that even a fast first stage makes one
/// step of them. With several stages the requests are divided into as many
/// groups that take turns: a step of all requests would keep all stages but one
/// idle.
StepFrame *Head::State::sendCertain(Time now) {
  if (certainDue.empty() || waitsForOthers())
    return nullptr;
  int64_t rows = std::ssize(certainDue);
  if (limits.stages > 1) {
    int64_t group = (active + limits.stages - 1) / limits.stages;
    int64_t room = group - clock.gatheringRows();
    if (room <= 0) {
      wakeAt(clock.opensNext(policy));
      return nullptr;
    }
    rows = std::min(rows, room);
  }
  bool alone = rows == 1 && active == 1 && nothingUnderWay();
  StepFrame &frame = newFrame();
  // The rows are filled in place: there are many, and a copy that reads back
  // what was just written in narrower pieces would stall the processor.
  frame.marks.resize(static_cast<size_t>(rows));
  frame.rows.resize(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    RequestId id = certainDue[i];
    HeadRequest &request = requests[static_cast<size_t>(id)];
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
  }
  rowFrames.push_back({.step = frame.step, .hasOthers = true});
  certainDue.erase(certainDue.begin(), certainDue.begin() + rows);
  return &frame;
}

bool Head::State::nothingUnderWay() {
  countSlots(clock.gatheringSlot());
  return load.underWay == 0;
}

/// Gives the complete frame a slot. A frame with prompt rows gets a slot that
/// guesses do not join.
void Head::State::giveSlot(StepFrame &frame, bool hasPrompt, Time now) {
  int64_t rows = std::ssize(frame.rows);
  uint64_t slot = hasPrompt ? clock.joinAlone(rows, now, policy)
                            : clock.join(rows, now, policy);
  int64_t positions = 0;
  for (const Row &row : frame.rows) {
    positions += row.position;
    if (row.wantsOutput)
      requests[static_cast<size_t>(row.request)].tree.root().slot = slot;
  }
  if (!rowFrames.empty() && rowFrames.back().step == frame.step) {
    rowFrames.back().rows = rows;
    rowFrames.back().positions = positions;
  }
}

void Head::State::sendCertainAndPrompts(Time now) {
  StepFrame *frame = sendCertain(now);
  bool starts = frame && !clock.opens();
  frame = sendPrompts(frame, now);
  if (frame)
    giveSlot(*frame, /*hasPrompt=*/false, now);
  if (!certainDue.empty() && !waitsForOthers())
    // The rest does not leave at once, because it would be in the same step.
    wakeAt(starts ? clock.opens() : clock.opensNext(policy));
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

/// Returns whether one more frame may be under way.
bool Head::State::hasRoom() const {
  return framesSent - framesGone < static_cast<uint64_t>(limits.framesInFlight);
}

/// Returns whether rows have to wait until other rows are back: as many groups
/// are under way as there are stages. One more group would be a step of its
/// own, and from then on all groups would take turns. With one stage this holds
/// for prompts too: what is in its mailbox at the end of a step does not wait
/// for the requests of that step.
bool Head::State::waitsForOthers() const {
  bool guesses = options.mode != SpeculationMode::Off && guessesCanPay();
  if (generating == 0 || guesses)
    return false;
  int64_t groups = 0;
  for (const RowFrame &each : rowFrames)
    groups += each.hasOthers || limits.stages == 1;
  return groups >= limits.stages;
}

/// Returns whether another chunk of a prompt may leave. Each stage has one
/// chunk. If no request generates, as many more are on the links or in the
/// mailboxes, so that no stage waits. Chunks that are kept short leave one by
/// one, because two in a mailbox would become one step.
bool Head::State::promptsMayLeave(bool joinsFrame, Time now) {
  if (prefilling.empty() || !hasRoom() ||
      (limits.stages == 1 && !joinsFrame && waitsForOthers()))
    return false;
  int64_t max = generating == 0 ? 2 * limits.stages : limits.stages;
  int64_t chunks = 0;
  for (const RowFrame &each : rowFrames)
    chunks += each.hasPrompt;
  bool isShort = generating > 0 && limits.interTokenLatency > Time(0);
  if (chunks >= max)
    return false;
  if (isShort && chunks > 0 && clock.opens() > now) {
    wakeAt(clock.opens());
    return false;
  }
  return true;
}

/// Returns the next step as it is without prompts: with a row of each
/// generating request in it. Prompts advance whatever inter-token latency is
/// set: they may lengthen the step by 1/promptShare.
PromptStep Head::State::promptStep() const {
  int64_t others = (generating + limits.stages - 1) / limits.stages;
  PromptStep step = {.rows = others, .positions = generatingAt / limits.stages};
  step.room = std::max(std::min(minPromptRows, limits.prefillRows),
                       limits.prefillRows - others);
  step.outputs = std::max<int64_t>(1, limits.outputs - others);
  if (generating > 0 && limits.interTokenLatency > Time(0)) {
    Time without = promptTimes.get(step.rows, step.positions);
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
int64_t Head::State::rowsThatFit(const PromptStep &step,
                                 const HeadRequest &request) const {
  int64_t room = request.spec.unscored() > 0 ? std::min(step.room, step.outputs)
                                             : step.room;
  if (!step.max)
    return room;
  auto time = [&](int64_t rows) {
    return promptTimes.get(step.rows + rows,
                           step.positions +
                               positionsOf(request.knownSent, rows));
  };
  int64_t fits = 0;
  for (int64_t above = room + 1; above - fits > 1;) {
    int64_t middle = fits + (above - fits) / 2;
    (time(middle) <= *step.max ? fits : above) = middle;
  }
  return fits;
}

/// Sends up to `max` known rows of the request in that step.
void Head::State::addKnownRows(PromptStep &step, HeadRequest &request,
                               StepFrame &frame, int64_t max) {
  int64_t first = request.knownSent;
  int64_t rows = sendKnownRows(request, frame, max);
  step.rows += rows;
  step.room -= rows;
  if (request.spec.unscored() > 0)
    step.outputs -= rows;
  else if (request.promptSent())
    --step.outputs; // the last row gives a token
  step.positions += positionsOf(first, rows);
  if (rowFrames.empty() || rowFrames.back().step != frame.step)
    rowFrames.push_back({.step = frame.step});
  rowFrames.back().hasPrompt = true;
}

/// Returns the request with the fewest known rows to send, or null. A request
/// whose rows want outputs counts only if the step has outputs left.
HeadRequest *Head::State::soonestDone(const PromptStep &step) {
  HeadRequest *soonest = nullptr;
  for (RequestId id : prefilling) {
    HeadRequest &request = requests[static_cast<size_t>(id)];
    if (request.spec.unscored() > 0 && step.outputs <= 0)
      continue;
    if (!soonest || request.rowsToSend() < soonest->rowsToSend())
      soonest = &request;
  }
  return soonest;
}

/// Fills steps with prompt rows. Half of each step, and at least one row, goes
/// to the request with the earliest queue priority, so that it always advances.
/// The rest goes to the requests that are done soonest, so that short prompts
/// do not wait for long ones. The first step also has the rows of `frame`, if
/// that is not null. A frame that is returned has no slot yet.
StepFrame *Head::State::sendPrompts(StepFrame *frame, Time now) {
  while (promptsMayLeave(/*joinsFrame=*/frame, now)) {
    PromptStep step = promptStep();
    HeadRequest &first = requests[prefilling.front()];
    frame = &frameToOpenIn(frame, prefilling.front(), now);
    int64_t fits = std::max<int64_t>(1, rowsThatFit(step, first));
    addKnownRows(step, first, *frame,
                 prefilling.size() > 1 ? (fits + 1) / 2 : fits);
    while (HeadRequest *next = soonestDone(step)) {
      fits = rowsThatFit(step, *next);
      if (fits == 0)
        break;
      frame = &frameToOpenIn(frame, idOf(*next), now);
      addKnownRows(step, *next, *frame, std::min(fits, next->rowsToSend()));
    }
    giveSlot(*frame, /*hasPrompt=*/true, now);
    frame = nullptr;
  }
  return frame;
}

/// Returns the frame in which the request may open. That is a new frame if
/// `frame` orders to pin a page that the request begins with.
StepFrame &Head::State::frameToOpenIn(StepFrame *frame, RequestId id,
                                      Time now) {
  if (!frame)
    frame = &newFrame();
  if (requests[id].openAtStages || !ledger.beginsWithAny(id, frame->pins))
    return *frame;
  if (!frame->rows.empty())
    giveSlot(*frame, /*hasPrompt=*/true, now);
  return newFrame();
}

OpenRequest Head::State::openingOf(const HeadRequest &request) const {
  OpenRequest open;
  open.request = idOf(request);
  open.firstNode = request.firstNode;
  open.promptTokens = static_cast<int32_t>(request.spec.prompt.size());
  open.knownTokens = static_cast<int32_t>(request.knownRows);
  open.logProbabilities = request.spec.logProbabilities;
  open.sampling = request.spec.sampling;
  open.grammar = request.spec.grammar;
  open.tenant = request.spec.tenant;
  if (request.spec.unscored() > 0)
    open.scored = request.spec.prompt;
  return open;
}

/// Sends up to `max` known rows of the request and returns how many. Once the
/// last of them has left, its root is launched.
int64_t Head::State::sendKnownRows(HeadRequest &request, StepFrame &frame,
                                   int64_t max) {
  RequestId id = idOf(request);
  int64_t rows = std::min(max, request.knownRows - request.knownSent);
  if (!std::exchange(request.openAtStages, true)) {
    OpenRequest &open = frame.opens.emplace_back(openingOf(request));
    open.prefixPages.resize(static_cast<size_t>(ledger.prefixPages(id)));
    ledger.prefixOf(id, open.prefixPages);
    for (int64_t i = 0; i < request.knownSent; ++i)
      open.prefix.push_back(request.path[static_cast<size_t>(i)].token);
  }
  if (std::exchange(request.markedIn, frame.launched) != frame.launched)
    frame.marks.push_back(markOf(request));
  const RequestSpec &spec = request.spec;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t position = request.knownSent++;
    bool isScored = spec.scoresPrompt && position + 1 >= spec.scored &&
                    position + 1 < std::ssize(spec.prompt);
    const PathEntry &entry = request.path[static_cast<size_t>(position)];
    frame.rows.push_back({.node = entry.node,
                          .parent = position > 0 ? entry.node - 1 : noNode,
                          .request = id,
                          .position = static_cast<int32_t>(position),
                          .token = entry.token,
                          .certain = true,
                          .wantsOutput = isScored});
  }
  if (!request.promptSent()) {
    if (ledger.sharesPrefixes())
      chunks.push_back({.step = frame.step,
                        .request = id,
                        .last = frame.rows.back().node,
                        .end = request.knownSent});
    return rows;
  }
  ++generating;
  generatingAt += request.knownRows;
  std::erase(prefilling, id);
  frame.rows.back().wantsOutput = true;
  GuessNode &root = request.tree.root();
  root.launched = true;
  return rows;
}

//===----------------------------------------------------------------------===//
// Detection of lost frames
//===----------------------------------------------------------------------===//

void Head::State::noteNews(Time now) {
  newsAt = now;
  quietFor = limits.quiet;
}

/// Sends a frame without rows if no frame has left and no answer has come for
/// long. If everything waits for a frame that was lost, the receiver notices
/// the loss by this frame. The return of this frame does not count as news: if
/// a round trip took longer than the quiet time, there would always be one
/// under way.
void Head::State::followUp(Time now) {
  constexpr Time longest = std::chrono::hours(1);
  if (limits.quiet <= Time(0) || (active == 0 && framesSent == framesGone))
    return;
  if (framesSent != framesBefore || quietFor == Time(0))
    noteNews(now);
  if (now >= newsAt + quietFor) {
    // If there is no room, many frames are under way, which can hardly all be
    // lost.
    if (hasRoom())
      newFrame();
    newsAt = now;
    quietFor = std::min(2 * quietFor, longest);
  }
  framesBefore = framesSent;
  wakeAt(newsAt + quietFor);
}

} // namespace sluice
