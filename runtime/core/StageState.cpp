//===- StageState.cpp - forms steps and lets rows leave -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageState.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace sluice {

static int32_t lastTokenOf(const StageLimits &limits) {
  return limits.vocabSize > 0 ? static_cast<int32_t>(limits.vocabSize - 1)
                              : std::numeric_limits<int32_t>::max();
}

Stage::State::State(const StageLimits &limits, CachePages &pages,
                    EpochBoard &board)
    : limits(limits), board(board), pages(pages),
      mailbox({limits.frames, limits.requests, limits.contextLength,
               limits.sharedPages}),
      branches(pages, limits.requests),
      rows(limits.rows, limits.outputs, pages.limits().sequences,
           lastTokenOf(limits)),
      shared(static_cast<size_t>(limits.sharedPages)),
      seenIn(static_cast<size_t>(limits.requests)),
      rowsIn(static_cast<size_t>(limits.requests)),
      markedIn(static_cast<size_t>(limits.requests)) {
  // A step has at most so many certain rows of one request.
  int64_t certainRows = std::min(limits.rows, limits.promptRows);
  for (RequestId request = 0; request < limits.requests; ++request)
    trees.emplace_back(request, limits.nodes, certainRows,
                       limits.keepTokens ? limits.contextLength : 0);
  touched.reserve(static_cast<size_t>(limits.requests));
  unpins.reserve(shared.size());
  opens.reserve(static_cast<size_t>(limits.requests));
  pins.reserve(shared.size());
  closes.reserve(static_cast<size_t>(limits.requests));
  alive.reserve(static_cast<size_t>(limits.rows));
  departed.reserve(static_cast<size_t>(limits.rows));
  cancelsOfDeparted.reserve(static_cast<size_t>(limits.rows));
  prefixPages.reserve(
      static_cast<size_t>(CachePages::pagesFor(limits.contextLength)));
}

void Stage::State::clearStep() {
  rows.clear();
  touched.clear();
  departed.clear();
  mayHaveOrphans = false;
  unpins.clear();
  opens.clear();
  pins.clear();
  closes.clear();
  timings.clear();
  promptRows = 0;
}

//===----------------------------------------------------------------------===//
// Forming a step. The board is read once for each request, so no row dies while
// the step is being formed.
//===----------------------------------------------------------------------===//

void Stage::State::look(StageTree &tree) {
  uint64_t &seen = seenIn[tree.request()];
  if (seen == step)
    return;
  seen = step;
  tree.observe(board.get(tree.request()));
  settle(tree);
}

/// Closes the branches without the confirmed node, once that node is known.
/// Does nothing after the request has ended, because pages of its path can
/// still be pinned until it closes.
void Stage::State::settle(StageTree &tree) {
  if (tree.settled == tree.mark() || tree.hasEnded())
    return;
  if (StageNode *confirmed = tree.find(tree.confirmed()))
    tree.keepPath(*confirmed);
  if (branches.prune(tree, step))
    tree.settled = tree.mark();
}

/// Returns whether the frame must wait for the next step: it opens a slot that
/// is still open, or it unpins or shares a page that this step pins or uses. In
/// the outgoing frame, unpins and opens would come before the close, pin or
/// use.
bool Stage::State::mustWait(const StepFrame &frame) const {
  for (SharedPage page : frame.unpins)
    if (shared[page].pinnedIn == step || shared[page].usedIn == step)
      return true;
  int64_t sequences = 0;
  for (const OpenRequest &open : frame.opens) {
    if (trees[open.request].isOpen())
      return true;
    sequences += !open.prefixPages.empty();
    for (SharedPage page : open.prefixPages)
      if (shared[page].pinnedIn == step)
        return true;
  }
  // Requests that close with this step will give sequences back.
  return !closes.empty() &&
         sequences > pages.limits().sequences - pages.openSequences();
}

void Stage::State::unpin(SharedPage page) {
  pages.release(std::exchange(shared[page].page, SharedEntry::none));
  --pinned;
  unpins.push_back(page);
}

Status Stage::State::open(OpenRequest &open) {
  SequenceId sequence = 0;
  if (!open.prefixPages.empty()) {
    prefixPages.clear();
    for (SharedPage page : open.prefixPages) {
      shared[page].usedIn = step;
      prefixPages.push_back(shared[page].page);
    }
    Expected<SequenceId> begun = branches.begin(
        open.request, open.firstNode + std::ssize(open.prefix) - 1,
        prefixPages);
    if (!begun)
      return begun.status().withContext("stage: request " +
                                        std::to_string(open.request));
    sequence = *begun;
  }
  trees[open.request].open(open, sequence);
  // The contents are moved too: they go on to the next stage.
  opens.push_back(std::move(open));
  return {};
}

Status Stage::State::pin(const PinPage &pin) {
  StageTree &tree = trees[pin.request];
  StageNode *node = tree.find(pin.node);
  std::optional<int32_t> page;
  if (!node || node->step != step || node->again)
    page = branches.pageOf(tree, pin.node, pin.index);
  if (!page)
    return failure("stage: request ", pin.request, ": page ", pin.index,
                   " of the path to row ", pin.node,
                   " is to be pinned, but is not in the cache");
  pages.retain(*page);
  shared[pin.page].page = *page;
  shared[pin.page].pinnedIn = step;
  ++pinned;
  pins.push_back(pin);
  return {};
}

/// Carries out what precedes the frame's rows, unless the frame must wait.
Expected<Stage::State::Taken> Stage::State::begin(WaitingFrame &waiting) {
  StepFrame &frame = waiting.frame;
  if (mustWait(frame))
    return Taken::StepIsFull;
  for (SharedPage page : frame.unpins)
    unpin(page);
  for (OpenRequest &each : frame.opens)
    SLUICE_RETURN_IF_ERROR(open(each));
  for (const EpochMark &mark : frame.marks)
    if (trees[mark.request].isOpen())
      trees[mark.request].note(mark);
  waiting.begun = true;
  return Taken::Yes;
}

Expected<Stage::State::Taken> Stage::State::takeFrame(WaitingFrame &waiting) {
  const StepFrame &frame = waiting.frame;
  if (!waiting.begun)
    if (Expected<Taken> begun = begin(waiting);
        !begun || *begun == Taken::StepIsFull)
      return begun;
  int64_t before = waiting.taken;
  while (waiting.taken < std::ssize(waiting.order)) {
    int32_t index = waiting.order[waiting.taken];
    Expected<Taken> taken = admit(frame.rows[index], {waiting.number, index});
    if (!taken)
      return taken;
    if (*taken == Taken::StepIsFull)
      break;
    ++waiting.taken;
  }
  bool whole = waiting.taken == std::ssize(waiting.order);
  // A tombstone has no timings.
  if ((whole || waiting.taken > before) && !frame.timings.empty())
    timings.assign(frame.timings.begin(), frame.timings.end());
  if (!whole)
    return Taken::StepIsFull;
  for (const PinPage &each : frame.pins)
    SLUICE_RETURN_IF_ERROR(pin(each));
  closes.insert(closes.end(), frame.closes.begin(), frame.closes.end());
  launched = std::max(launched, frame.launched);
  return Taken::Yes;
}

Expected<Stage::State::Taken> Stage::State::admit(const Row &row,
                                                  RowOrigin origin) {
  StageTree &tree = treeOf(row);
  look(tree);
  if (!tree.lives(row.node, row.parent, row.certain) ||
      (row.parent != noNode && !tree.find(row.parent))) {
    ++counters.droppedAtMailbox;
    return Taken::Yes;
  }
  if (StageNode *known = tree.find(row.node)) {
    if (known->parent != row.parent || known->position != row.position ||
        known->token != row.token)
      return failure("stage: request ", row.request, ": row ", row.node,
                     " comes again as another one");
    if (known->step == step)
      return repeat(tree, *known, row);
  }
  if (StageNode *parent = tree.find(row.parent);
      parent && row.position != parent->position + 1)
    return failure("stage: request ", row.request, ": row ", row.node,
                   " at position ", row.position, " behind one at ",
                   parent->position);
  bool ofPrompt = row.position < tree.opened().knownTokens;
  // Rows of a prompt are certain; later guesses must not delay them.
  if (!row.certain && promptRows > 0 && origin.frame != promptFrame)
    return Taken::StepIsFull;
  if (!rows.hasRoom(row.wantsOutput) ||
      (ofPrompt && promptRows == limits.promptRows))
    return Taken::StepIsFull;
  Expected<Taken> taken = placeRow(tree, row, origin);
  if (ofPrompt && taken && *taken == Taken::Yes) {
    ++promptRows;
    promptFrame = origin.frame;
  }
  return taken;
}

/// Merges a row that is in this step already.
Expected<Stage::State::Taken>
Stage::State::repeat(StageTree &tree, StageNode &known, const Row &row) {
  if (!rows.merge(known.row, row))
    return Taken::StepIsFull;
  if (row.certain)
    tree.makeCertain(known);
  ++counters.repeated;
  return Taken::Yes;
}

Expected<Stage::State::Taken>
Stage::State::placeRow(StageTree &tree, const Row &row, RowOrigin origin) {
  SLUICE_RETURN_IF_ERROR(tree.checkRoom(row.node, step));
  Expected<std::optional<BranchTable::BranchEnd>> placed =
      branches.place(tree, row, step);
  if (!placed) {
    // Requests that close with this step will give pages back.
    if (!closes.empty())
      return Taken::StepIsFull;
    return placed.status().withContext("stage: request " +
                                       std::to_string(row.request));
  }
  if (!*placed) {
    ++counters.droppedAtMailbox;
    return Taken::Yes;
  }
  const BranchTable::BranchEnd &place = **placed;
  bool again = tree.find(row.node) != nullptr;
  int32_t index = rows.add(row, origin, place.sequence);
  if (place.copy)
    rows.addCopy(*place.copy);
  if (place.copiedFrom)
    mirrorAncestors(tree, row, place);
  StageNode &node = tree.insert(row, place.sequence, step, index);
  node.again = again;
  if (rowsIn[row.request] != step) {
    rowsIn[row.request] = step;
    touched.push_back(row.request);
  }
  if (row.certain)
    tree.keepPath(node);
  if (row.node == tree.confirmed())
    settle(tree);
  return Taken::Yes;
}

/// Mirrors the ancestors that are rows of this step: the page that is copied
/// for the fork does not have them yet.
void Stage::State::mirrorAncestors(StageTree &tree, const Row &row,
                                   const BranchTable::BranchEnd &place) {
  for (StageNode *node = tree.find(row.parent);
       node && node->step == step && node->position >= *place.copiedFrom;
       node = tree.find(node->parent))
    rows.addMirror(node->row, place.sequence);
}

Status Stage::State::arrange() {
  if (Status s = rows.arrange(); !s.ok())
    return s.withContext("stage");
  for (int64_t row = 0; row < rows.batch().rows(); ++row) {
    const Row &placed = rows.rows()[row];
    treeOf(placed).find(placed.node)->row = static_cast<int32_t>(row);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Leaving a step.
//===----------------------------------------------------------------------===//

/// Returns whether the row stays in the step: it lives, or it was in the cache
/// before. If a row of the latter kind left now, a page of its path would be
/// damaged that the head may have pinned, because the last stage may have
/// answered rows after it.
bool Stage::State::stays(const Row &row) {
  StageTree &tree = treeOf(row);
  return tree.lives(row.node, row.parent, row.certain) ||
         (limits.sharedPages > 0 && tree.find(row.node)->again);
}

/// Fills `alive` and returns whether a row has died.
bool Stage::State::judge() {
  uint64_t changes = board.changes();
  if (changes == seenChanges)
    return false;
  seenChanges = changes;
  bool news = false;
  for (RequestId request : touched)
    news |= trees[request].observe(board.get(request));
  if (!news)
    return false;
  alive.clear();
  bool died = false;
  for (const Row &row : rows.rows()) {
    alive.push_back(stays(row));
    died |= alive.back() == 0;
  }
  return died;
}

/// Keeps dead rows to which a living row of this step attends: ancestors of the
/// confirmed row, which are needed for nothing else.
void Stage::State::keepAncestors() {
  for (int64_t row = 0; row < std::ssize(alive); ++row) {
    if (!alive[row])
      continue;
    StageTree &tree = treeOf(rows.rows()[row]);
    for (StageNode *node = tree.find(rows.rows()[row].parent);
         node && node->step == step && !alive[node->row];
         node = tree.find(node->parent))
      alive[node->row] = 1;
  }
}

/// Returns when the head decided the cancel by which the row died since the
/// last news.
std::optional<Time> Stage::State::cancelOf(const Row &dead) {
  StageTree &tree = treeOf(dead);
  return board.decidedWhen(dead.request, [&](const EpochBoard::State &cancel) {
    return !tree.livedBy(cancel, dead);
  });
}

/// Collects when the cancels were decided by which rows leave now. For a row
/// that findDead() has marked, it was noted then, because there has been other
/// news since.
void Stage::State::findCancels() {
  for (int64_t row = 0; row < std::ssize(alive); ++row) {
    if (alive[row])
      continue;
    const Row &dead = rows.rows()[row];
    const StageNode &node = *treeOf(dead).find(dead.node);
    if (std::optional<Time> decided = node.named ? node.cancel : cancelOf(dead))
      cancelsOfDeparted.push_back(*decided);
  }
  std::sort(cancelsOfDeparted.begin(), cancelsOfDeparted.end());
  cancelsOfDeparted.erase(
      std::unique(cancelsOfDeparted.begin(), cancelsOfDeparted.end()),
      cancelsOfDeparted.end());
}

/// Takes the rows out of the step that are 0 in `alive`.
std::span<const RowMove> Stage::State::takeOut() {
  findCancels();
  for (int64_t row = 0; row < std::ssize(alive); ++row)
    if (!alive[row]) {
      const Row &dead = rows.rows()[row];
      departed.push_back(dead);
      StageTree::leave(*treeOf(dead).find(dead.node));
      ++counters.departedAtCheckpoint;
    }
  std::span<const RowMove> moves = rows.keep(alive);
  for (RowMove move : moves) {
    const Row &moved = rows.rows()[move.to];
    treeOf(moved).find(moved.node)->row = move.to;
  }
  return moves;
}

/// Fills `alive` and returns whether a row's ancestor has left without the row.
/// If the stage itself chose the rows that left, keepAncestors() has prevented
/// that.
bool Stage::State::findOrphans() {
  if (!std::exchange(mayHaveOrphans, false))
    return false;
  alive.clear();
  bool any = false;
  for (const Row &row : rows.rows()) {
    StageTree &tree = treeOf(row);
    alive.push_back(!tree.isOrphan(*tree.find(row.node), step));
    any |= alive.back() == 0;
  }
  return any;
}

/// Cuts rows that left their step off the branches: the cache does not have
/// them.
void Stage::State::cutBack() {
  for (const Row &row : departed) {
    // All rows of a request are cut at once.
    if (rowsIn[row.request] != step)
      continue;
    rowsIn[row.request] = 0;
    branches.dropDeparted(treeOf(row));
  }
}

} // namespace sluice
