//===- StageState.cpp - what a stage keeps: forming, leaving --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageState.h"

#include <algorithm>

namespace sluice {

Stage::State::State(const StageLimits &limits, CachePages &pages,
                    EpochBoard &board)
    : limits(limits), board(board), pages(pages),
      door({limits.frames, limits.requests, limits.contextLength}),
      branches(pages, limits.requests),
      rows(limits.rows, limits.outputs, pages.limits().sequences),
      seenIn(static_cast<size_t>(limits.requests)),
      rowsIn(static_cast<size_t>(limits.requests)),
      markedIn(static_cast<size_t>(limits.requests)) {
  for (RequestId request = 0; request < limits.requests; ++request)
    trees.emplace_back(request, limits.nodes, limits.rows,
                       limits.keepTokens ? limits.contextLength : 0);
  touched.reserve(static_cast<size_t>(limits.requests));
  opens.reserve(static_cast<size_t>(limits.requests));
  closes.reserve(static_cast<size_t>(limits.requests));
  alive.reserve(static_cast<size_t>(limits.rows));
  left.reserve(static_cast<size_t>(limits.rows));
  cancelsOfLeft.reserve(static_cast<size_t>(limits.rows));
}

//===----------------------------------------------------------------------===//
// Forming a step. What the board says of a request is looked up once, so that
// no row dies while the step is being formed.
//===----------------------------------------------------------------------===//

void Stage::State::look(StageTree &tree) {
  uint64_t &seen = seenIn[tree.request()];
  if (seen == step)
    return;
  seen = step;
  tree.observe(board.get(tree.request()));
  settle(tree);
}

/// Once the confirmed node is known: what does not hold it goes.
void Stage::State::settle(StageTree &tree) {
  if (tree.settled == tree.mark())
    return;
  if (StageNode *confirmed = tree.find(tree.confirmed()))
    tree.keepPath(*confirmed);
  if (branches.prune(tree, step))
    tree.settled = tree.mark();
}

/// Opens what the frame opens. False where a slot's last request closes in this
/// very step: then the frame has to wait for the next one.
bool Stage::State::takeOpens(WaitingFrame &waiting) {
  const StepFrame &frame = waiting.frame;
  for (const OpenRequest &open : frame.opens)
    if (trees[open.request].isOpen())
      return false;
  for (const OpenRequest &open : frame.opens) {
    trees[open.request].open(open);
    opens.push_back(open);
  }
  for (const EpochMark &mark : frame.marks)
    if (trees[mark.request].isOpen())
      trees[mark.request].note(mark);
  waiting.opened = true;
  return true;
}

Expected<Stage::State::Taken> Stage::State::takeFrame(WaitingFrame &waiting) {
  const StepFrame &frame = waiting.frame;
  if (!waiting.opened && !takeOpens(waiting))
    return Taken::StepIsFull;
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
  // A tombstone brings none.
  if ((whole || waiting.taken > before) && !frame.timings.empty())
    timings.assign(frame.timings.begin(), frame.timings.end());
  if (!whole)
    return Taken::StepIsFull;
  closes.insert(closes.end(), frame.closes.begin(), frame.closes.end());
  return Taken::Yes;
}

Expected<Stage::State::Taken> Stage::State::admit(const Row &row,
                                                  RowOrigin origin) {
  StageTree &tree = treeOf(row);
  look(tree);
  if (!tree.lives(row.node, row.parent, row.certain) ||
      (row.parent != noNode && !tree.find(row.parent))) {
    ++counters.droppedAtDoor;
    return Taken::Yes;
  }
  if (StageNode *known = tree.find(row.node); known && known->step == step)
    return repeat(tree, *known, row);
  if (StageNode *parent = tree.find(row.parent);
      parent && row.position != parent->position + 1)
    return failure("stage: request ", row.request, ": row ", row.node,
                   " at position ", row.position, " behind one at ",
                   parent->position);
  bool ofPrompt = row.position < tree.opened().promptTokens;
  // Rows of a prompt are certain, and do not wait for guesses that came later.
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

/// The row is in this step already.
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
  if (Status s = tree.checkRoom(row.node, step); !s.ok())
    return s;
  Expected<std::optional<BranchTable::Place>> placed =
      branches.place(tree, row, step);
  if (!placed) {
    // Requests that close with this step have room to give back.
    if (!closes.empty())
      return Taken::StepIsFull;
    return placed.status().withContext("stage: request " +
                                       std::to_string(row.request));
  }
  if (!*placed) {
    ++counters.droppedAtDoor;
    return Taken::Yes;
  }
  const BranchTable::Place &place = **placed;
  int32_t index = rows.add(row, origin, place.sequence);
  if (place.copy)
    rows.addCopy(*place.copy);
  if (place.copiedFrom)
    mirrorAncestors(tree, row, place);
  StageNode &node = tree.insert(row, place.sequence, step, index);
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

/// Rows of this step are not in the page yet that was copied for the fork.
void Stage::State::mirrorAncestors(StageTree &tree, const Row &row,
                                   const BranchTable::Place &place) {
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

/// Fills `alive`; whether a row has died.
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
    alive.push_back(treeOf(row).lives(row.node, row.parent, row.certain));
    died |= alive.back() == 0;
  }
  return died;
}

/// What a living row of this step attends to in this step has to stay, even if
/// it is no longer of interest by itself: an ancestor of the confirmed row.
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

/// Since when the rows are dead that are about to leave.
void Stage::State::findCancels() {
  for (int64_t row = 0; row < std::ssize(alive); ++row) {
    if (alive[row])
      continue;
    const Row &dead = rows.rows()[row];
    StageTree &tree = treeOf(dead);
    std::optional<Time> decided =
        board.decidedWhen(dead.request, [&](const EpochBoard::State &cancel) {
          return !tree.livedBy(cancel, dead);
        });
    if (decided && std::find(cancelsOfLeft.begin(), cancelsOfLeft.end(),
                             *decided) == cancelsOfLeft.end())
      cancelsOfLeft.push_back(*decided);
  }
}

/// What has left its step is not in the cache: no branch may hold it.
void Stage::State::cutBack() {
  for (const Row &row : left) {
    // Once for each request: all of its rows are cut at once.
    if (rowsIn[row.request] != step)
      continue;
    rowsIn[row.request] = 0;
    branches.dropLeft(treeOf(row));
  }
}

} // namespace sluice
