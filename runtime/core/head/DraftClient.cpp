//===- DraftClient.cpp - requests guesses from the draft ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/DraftClient.h"

#include <algorithm>

namespace sluice {

/// The fraction of the policy's floor from which on guesses enter the tree.
/// They enter below the chance that sends them, because each row that is
/// confirmed above a guess raises its chance, and the draft is asked about a
/// row only once.
constexpr double entryShare = 1.0 / 32;

DraftClient::DraftClient(const HeadLimits &limits,
                         const SpeculationOptions &options,
                         SpeculationPolicy &policy, RequestTable &requests,
                         HeadCommands &commands)
    : limits(limits), options(options), policy(policy), requests(requests),
      commands(commands) {
  asked.reserve(static_cast<size_t>(limits.prefillRows + options.draftRows));
}

//===----------------------------------------------------------------------===//
// What to ask about
//===----------------------------------------------------------------------===//

/// Returns the greatest depth below the root at which guesses are of use; the
/// text ends before deeper ones.
int64_t DraftClient::depthLimit(const HeadRequest &request) const {
  int64_t position = request.tree.root().position;
  int64_t room = limits.contextLength - 1 - position;
  // The draft expands rows down to one level above the deepest guesses.
  if (limits.draftContextLength > 0)
    room = std::min(room, limits.draftContextLength - position);
  if (request.spec.maxTokens < 0)
    return room;
  // One token is the root's own result.
  return std::min(room, request.spec.maxTokens - request.emitted - 1);
}

/// Returns whether candidates below the root or its descendants are wanted now.
bool DraftClient::wantsGuesses(const HeadRequest &request) const {
  if (depthLimit(request) < 1)
    return false;
  if (options.mode == SpeculationMode::Sync)
    return !request.rootInFlight() && request.promptSent();
  return options.continuous || request.burst < options.draftRows;
}

/// Returns whether the draft can take one more row. The draft keeps each row
/// that it was asked about as long as the row can come true.
bool DraftClient::hasRoom() const {
  int64_t known = 0;
  for (const HeadRequest &request : requests)
    if (request.active)
      for (const GuessNode &guess : request.tree.nodes().subspan(1))
        known += guess.expansion != Expansion::Open;
  return known < options.nodes;
}

/// Sync mode: returns how many guesses a batch of one request may have. All
/// requests can have a batch under way.
int64_t DraftClient::batchGuesses() const {
  return options.nodes / limits.requests;
}

/// Adds a row to the frame, and what the draft must know of its request.
void DraftClient::askFor(HeadRequest &request, StepFrame &frame,
                         const Row &row) {
  if (std::none_of(
          frame.marks.begin(), frame.marks.end(),
          [&](const EpochMark &each) { return each.request == row.request; })) {
    if (!std::exchange(request.openAtDraft, true)) {
      OpenRequest &open = frame.opens.emplace_back(request.opening());
      open.logProbabilities = -1;
      open.scored.clear();
    }
    frame.marks.push_back(request.mark());
  }
  frame.rows.push_back(row);
  asked.push_back({row.request, row.node, row.position, row.certain});
}

/// Sends the confirmed rows that the draft has not seen, up to `room` of them,
/// and asks for candidates after the last one.
void DraftClient::askForPath(HeadRequest &request, StepFrame &frame,
                             int64_t &room) {
  int64_t end = static_cast<int64_t>(request.path.size());
  for (int64_t at = request.drafted; at < end && room > 0; ++at, --room) {
    const PathEntry &entry = request.path[static_cast<size_t>(at)];
    bool asks = at + 1 == end && wantsGuesses(request);
    // A row that is sent without asking would have to be sent again to ask.
    if (at + 1 == end && !asks && options.mode == SpeculationMode::Async)
      return;
    if (asks)
      request.tree.root().expansion = Expansion::Asked;
    askFor(request, frame,
           {.node = entry.node,
            .parent = at > 0 ? request.path[static_cast<size_t>(at) - 1].node
                             : noNode,
            .request = request.id,
            .position = static_cast<int32_t>(at),
            .token = entry.token,
            .certain = true,
            .wantsOutput = asks});
  }
}

/// Asks about the likeliest guesses without known candidates, of all requests
/// whose paths the draft has seen.
void DraftClient::askForFrontier(StepFrame &frame) {
  double likeliest = 0;
  for (int64_t rows = 0; rows < options.draftRows && hasRoom(); ++rows) {
    GuessNode *best = nullptr;
    HeadRequest *owner = nullptr;
    for (HeadRequest &request : requests) {
      if (!request.active || request.closeOwed || !wantsGuesses(request) ||
          request.drafted < static_cast<int64_t>(request.path.size()))
        continue;
      int64_t deepest = std::min(options.depth, depthLimit(request) - 1);
      for (GuessNode &node : request.tree.nodes().subspan(1))
        if (node.expansion == Expansion::Open && node.depth <= deepest &&
            request.canNumber(node, numberSpan(options)) &&
            (!best || node.pathChance > best->pathChance)) {
          best = &node;
          owner = &request;
        }
    }
    if (!best)
      return;
    likeliest = std::max(likeliest, best->pathChance);
    if (!policy.worthDrafting(best->pathChance, likeliest, rows))
      return;
    best->expansion = Expansion::Asked;
    owner->number(*best);
    askFor(*owner, frame, owner->row(*best, /*certain=*/false));
  }
}

bool DraftClient::isComplete(const HeadRequest &request) const {
  if (batchGuesses() == 0 ||
      request.levels >= std::min(options.depth, depthLimit(request)))
    return true;
  return std::ranges::none_of(request.tree.nodes(), [&](const GuessNode &node) {
    return node.depth == request.levels && node.expansion != Expansion::Done;
  });
}

/// Sync mode: asks about the guesses of the last level.
void DraftClient::askForLevel(HeadRequest &request, StepFrame &frame) {
  if (request.levels == 0 || isComplete(request))
    return;
  for (GuessNode &node : request.tree.nodes())
    if (node.depth == request.levels && node.expansion == Expansion::Open) {
      node.expansion = Expansion::Asked;
      request.number(node);
      askFor(request, frame, request.row(node, /*certain=*/false));
    }
}

void DraftClient::ask() {
  if (isBusy)
    return;
  StepFrame &frame = commands.drafts.add();
  asked.clear();
  if (policy.canPay(requests.rowsPerStep(), limits.stages))
    addRows(frame);
  frame.sortRows();
  for (HeadRequest &request : requests)
    if (std::exchange(request.closeOwed, false))
      frame.closes.push_back(request.id);
  if (frame.rows.empty() && frame.closes.empty())
    return commands.drafts.dropLast();
  frame.step = framesSent++;
  isBusy = true;
}

/// Adds the rows that the draft is asked about, and rows that it has not seen.
void DraftClient::addRows(StepFrame &frame) {
  int64_t room = limits.prefillRows;
  for (HeadRequest &request : requests) {
    // In Sync mode the next batch is drafted once all results of the last are
    // known.
    if (!request.active || request.closeOwed || request.outstanding > 0 ||
        depthLimit(request) < 1)
      continue;
    askForPath(request, frame, room);
    if (options.mode == SpeculationMode::Sync)
      askForLevel(request, frame);
  }
  if (options.mode == SpeculationMode::Async)
    askForFrontier(frame);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

bool DraftClient::takeAnswer(const GuessFrame &answer) {
  if (!isBusy || answer.step + 1 != framesSent)
    return false;
  isBusy = false;
  policy.measureDraft(answer.timing.rows, Time(answer.timing.busyNanos));
  for (const AskedRow &row : asked) {
    auto guesses =
        std::ranges::find_if(answer.guesses, [&](const GuessRow &each) {
          return each.request == row.request && each.node == row.node;
        });
    takeRow(row, guesses != answer.guesses.end() ? &*guesses : nullptr);
  }
  if (options.mode == SpeculationMode::Sync)
    for (HeadRequest &request : requests)
      endLevel(request);
  return true;
}

/// Takes the answer for one row; `guesses` is null if the draft gave none.
void DraftClient::takeRow(const AskedRow &row, const GuessRow *guesses) {
  HeadRequest &request = requests[row.request];
  if (!request.active || row.node < request.firstNode)
    return;
  // Certain rows do not die, so the draft has computed them.
  if (!guesses && !row.certain) {
    if (int32_t at = request.tree.find(row.node); at >= 0)
      request.tree.nodes()[static_cast<size_t>(at)].expansion = Expansion::Open;
    return;
  }
  requests.count(request, &SpeculationCounters::drafted);
  size_t position = static_cast<size_t>(row.position);
  bool onPath =
      position < request.path.size() && request.path[position].node == row.node;
  if (onPath)
    request.drafted = std::max<int64_t>(request.drafted, row.position + 1);
  if (!guesses)
    return;
  int32_t at = request.tree.find(row.node);
  if (at >= 0) {
    request.tree.nodes()[static_cast<size_t>(at)].expansion = Expansion::Done;
    addCandidates(request, at, *guesses);
  } else if (onPath) {
    // The candidates come too late to be used, but the policy learns from them.
    int32_t token = request.path[position + 1].token;
    for (const Candidate &candidate : guesses->candidates)
      policy.calibration().observe(candidate.confidence,
                                   candidate.token == token);
  }
}

/// Adds the draft's candidates after a node to its request's tree, if they are
/// likely enough and the tree has room.
void DraftClient::addCandidates(HeadRequest &request, int32_t parent,
                                const GuessRow &guesses) {
  GuessTree &tree = request.tree;
  NodeId parentNode = tree.nodes()[static_cast<size_t>(parent)].node;
  bool sync = options.mode == SpeculationMode::Sync;
  int64_t taken = 0;
  for (const Candidate &candidate : guesses.candidates) {
    if (taken == options.width)
      return;
    parent = tree.find(parentNode);
    const GuessNode &node = tree.nodes()[static_cast<size_t>(parent)];
    if (node.depth + 1 > depthLimit(request))
      return;
    double chance = policy.calibration().chance(candidate.confidence);
    double pathChance = node.pathChance * chance;
    // The likeliest candidate after the root is always taken; otherwise the
    // policy could never find out that guesses come true again.
    bool always = sync || (parent == 0 && taken == 0);
    if (!always && pathChance < policy.floor() * entryShare)
      continue;
    if (tree.child(parent, candidate.token) >= 0)
      continue;
    if (!sync && tree.waiting() >= maxWaitingGuesses) {
      if (!tree.dropWorstBelow(pathChance))
        continue;
      parent = tree.find(parentNode);
    }
    if (tree.add(parent, candidate.token, candidate.confidence, chance) < 0)
      return;
    ++taken;
  }
}

/// Sync mode: starts the next level once the draft has answered for all of this
/// one.
void DraftClient::endLevel(HeadRequest &request) {
  if (!request.active || request.rootInFlight() || !request.promptSent())
    return;
  int64_t before = 0;
  for (const GuessNode &node : request.tree.nodes()) {
    if (node.depth == request.levels && node.expansion != Expansion::Done)
      return;
    before += node.depth > 0 && node.depth <= request.levels;
  }
  if (request.levels >= std::min(options.depth, depthLimit(request)))
    return;
  ++request.levels;
  request.tree.keepBest(
      static_cast<int32_t>(request.levels),
      std::clamp<int64_t>(batchGuesses() - before, 0, options.width));
}

} // namespace sluice
