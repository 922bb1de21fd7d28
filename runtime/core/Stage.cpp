//===- Stage.cpp - forms a stage's steps from queued frames ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Stage.h"
#include "runtime/core/StageState.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace sluice {

namespace {

constexpr int64_t maxRows = int64_t{1} << 20;
constexpr int64_t maxPosition = std::numeric_limits<int32_t>::max();
constexpr int64_t maxTokens = std::numeric_limits<int32_t>::max();

Status checkLimits(const StageLimits &limits, const CachePages &pages,
                   const EpochBoard &board) {
  for (auto [what, value, max] :
       {std::tuple{"rows", limits.rows, maxRows},
        std::tuple{"outputs", limits.outputs, maxRows},
        std::tuple{"prompt rows", limits.promptRows, maxRows},
        std::tuple{"requests", limits.requests, board.requests()},
        std::tuple{"branches", limits.branches, pages.limits().sequences},
        std::tuple{"nodes", limits.nodes, maxRows},
        std::tuple{"context length", limits.contextLength,
                   std::min(maxPosition, pages.limits().tokensPerSequence)},
        std::tuple{"frames", limits.frames, maxRows}})
    if (value < 1 || value > max)
      return failure("stage: ", what, ": ", value, " is not between 1 and ",
                     max);
  if (limits.vocabSize < 0 || limits.vocabSize > maxTokens)
    return failure("stage: tokens: ", limits.vocabSize,
                   " is not between 0 and ", maxTokens);
  if (limits.sharedPages < 0 || limits.sharedPages > pages.limits().pages)
    return failure("stage: shared pages: ", limits.sharedPages,
                   " is not between 0 and ", pages.limits().pages);
  return {};
}

} // namespace

Stage::Stage(std::unique_ptr<State> state) : state(std::move(state)) {}
Stage::Stage(Stage &&) = default;
Stage &Stage::operator=(Stage &&) = default;
Stage::~Stage() = default;

Expected<Stage> Stage::create(const StageLimits &limits, CachePages &pages,
                              EpochBoard &board) {
  SLUICE_RETURN_IF_ERROR(checkLimits(limits, pages, board));
  if (pages.openSequences() != 0)
    return failure("stage: the cache is in use");
  return Stage(std::make_unique<State>(limits, pages, board));
}

Expected<uint64_t> Stage::enqueue(StepFrame &&frame) {
  Expected<uint64_t> number = state->mailbox.enqueue(frame);
  if (number)
    for (const EpochMark &mark : state->mailbox.back().frame.marks)
      state->board.publish(mark);
  return number;
}

int64_t Stage::queued() const { return state->mailbox.size(); }

Expected<bool> Stage::formStep() {
  State &s = *state;
  assert(!s.inStep && "finishStep() comes first");
  if (s.mailbox.empty())
    return false;
  ++s.step;
  s.inStep = true;
  s.clearStep();
  // Read before any mark: a mark that comes in between counts as news later.
  s.seenChanges = s.board.changes();
  do {
    Expected<State::Taken> taken = s.takeFrame(s.mailbox.front());
    if (!taken)
      return taken.status();
    if (*taken == State::Taken::StepIsFull)
      break;
    s.mailbox.pop();
  } while (s.limits.fuse && !s.mailbox.empty());
  SLUICE_RETURN_IF_ERROR(s.arrange());
  s.counters.steps += s.rows.batch().rows() > 0;
  s.counters.rows += static_cast<uint64_t>(s.rows.batch().rows());
  return true;
}

const StepBatch &Stage::batch() const { return state->rows.batch(); }
std::span<const Row> Stage::rows() const { return state->rows.rows(); }
std::span<const RowOrigin> Stage::origins() const {
  return state->rows.origins();
}
std::span<const PageCopy> Stage::pageCopies() const {
  return state->rows.pageCopies();
}
uint64_t Stage::firstFrameInUse() const { return state->mailbox.frontNumber(); }

std::span<const RowMove> Stage::checkpoint() {
  State &s = *state;
  assert(s.inStep);
  ++s.counters.checkpoints;
  s.cancelsOfDeparted.clear();
  if (!s.judge())
    return {};
  s.keepAncestors();
  return s.takeOut();
}

bool Stage::findDead(std::span<uint8_t> alive) {
  State &s = *state;
  assert(s.inStep && std::ssize(alive) == s.rows.batch().rows());
  if (!s.judge())
    return false;
  s.keepAncestors();
  bool any = false;
  for (size_t row = 0; row < alive.size(); ++row) {
    if (alive[row] == 0 || s.alive[row] != 0)
      continue;
    const Row &dead = s.rows.rows()[row];
    StageNode &node = *s.treeOf(dead).find(dead.node);
    node.named = true;
    node.cancel = s.cancelOf(dead);
    alive[row] = 0;
    any = true;
  }
  return any;
}

std::span<const RowMove> Stage::leave(std::span<const uint8_t> alive) {
  State &s = *state;
  assert(s.inStep &&
         (alive.empty() || std::ssize(alive) == s.rows.batch().rows()));
  ++s.counters.checkpoints;
  s.cancelsOfDeparted.clear();
  if (alive.empty())
    return {};
  s.alive.assign(alive.begin(), alive.end());
  s.mayHaveOrphans = true;
  return s.takeOut();
}

std::span<const RowMove> Stage::dropOrphans() {
  State &s = *state;
  assert(s.inStep);
  s.cancelsOfDeparted.clear();
  if (!s.findOrphans())
    return {};
  return s.takeOut();
}

std::span<const Time> Stage::cancelsOfDeparted() const {
  return state->cancelsOfDeparted;
}

void Stage::finishStep(StepFrame &outgoing) {
  State &s = *state;
  assert(s.inStep);
  assert(!s.mayHaveOrphans && "dropOrphans() comes behind the last leave()");
  s.inStep = false;
  outgoing.step = s.step - 1;
  outgoing.launched = s.launched;
  std::span<const Row> rows = s.rows.rows();
  outgoing.rows.insert(outgoing.rows.end(), rows.begin(), rows.end());
  for (const Row &row : rows) {
    s.counters.guesses += !row.certain;
    if (std::exchange(s.markedIn[row.request], s.step) != s.step)
      if (const std::optional<EpochMark> &mark = s.treeOf(row).inBand)
        outgoing.marks.push_back(*mark);
  }
  outgoing.unpins.insert(outgoing.unpins.end(), s.unpins.begin(),
                         s.unpins.end());
  std::move(s.opens.begin(), s.opens.end(), std::back_inserter(outgoing.opens));
  outgoing.pins.insert(outgoing.pins.end(), s.pins.begin(), s.pins.end());
  outgoing.closes.insert(outgoing.closes.end(), s.closes.begin(),
                         s.closes.end());
  outgoing.timings.insert(outgoing.timings.end(), s.timings.begin(),
                          s.timings.end());
  s.counters.tombstones += outgoing.isTombstone();
  s.cutBack();
  for (RequestId request : s.closes) {
    s.branches.close(request);
    s.trees[request].close();
  }
}

std::span<const int32_t> Stage::promptOf(int64_t row) {
  const Row &asked = state->rows.rows()[row];
  StageTree &tree = state->treeOf(asked);
  std::span<const int32_t> path = tree.path(*tree.find(asked.node));
  return path.first(std::min<size_t>(path.size(), tree.opened().promptTokens));
}

std::span<const int32_t> Stage::outputOf(int64_t row) {
  const Row &asked = state->rows.rows()[row];
  StageTree &tree = state->treeOf(asked);
  std::span<const int32_t> path = tree.path(*tree.find(asked.node));
  return path.subspan(
      std::min<size_t>(path.size(), tree.opened().promptTokens));
}

const OpenRequest &Stage::requestOf(int64_t row) const {
  return state->trees[state->rows.rows()[row].request].opened();
}

const Stage::Counters &Stage::counters() const { return state->counters; }

Stage::Holdings Stage::holdings() const {
  Holdings held;
  for (const StageTree &tree : state->trees)
    held.requests += tree.isOpen();
  held.branches = state->branches.openBranches();
  held.pages = state->pages.pagesOfSequences();
  held.frames = state->mailbox.size();
  held.pinned = state->pinned;
  return held;
}

} // namespace sluice
