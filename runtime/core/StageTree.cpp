//===- StageTree.cpp - a stage's view of one request's tree ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageTree.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice {

namespace {

/// The numbers of rows that live are spread out, because rows between them have
/// died.
constexpr int64_t spread = 8;

} // namespace

StageTree::StageTree(RequestId request, int64_t nodes, int64_t rows,
                     int64_t contextLength)
    : slot(request), limit(nodes),
      ring(std::bit_ceil(static_cast<uint64_t>(nodes * spread + rows))),
      mask(ring.size() - 1), tokens(static_cast<size_t>(contextLength)),
      nodes(static_cast<size_t>(contextLength)) {}

void StageTree::open(const OpenRequest &opened, SequenceId sequence) {
  assert(!isOpened);
  isOpened = true;
  description = opened;
  // Older nodes belong to the slot's last request and are not found any more.
  firstNode = opened.firstNode;
  lastCertain = noNode;
  inBand.reset();
  pathLength = 0;
  ++marks;
  if (!opened.prefix.empty())
    seed(opened.prefix, sequence);
}

/// Stores the prefix as if its rows had been computed here, so that the first
/// row has a known parent and paths go through it.
void StageTree::seed(const std::vector<int32_t> &prefix, SequenceId sequence) {
  int64_t length = std::ssize(prefix);
  Row last;
  last.node = firstNode + length - 1;
  last.parent = last.node - 1;
  last.position = static_cast<int32_t>(length - 1);
  last.token = prefix.back();
  last.certain = true;
  insert(last, sequence, /*step=*/0, /*index=*/0);
  if (tokens.empty())
    return;
  std::copy(prefix.begin(), prefix.end(), tokens.begin());
  std::iota(nodes.begin(), nodes.begin() + length, firstNode);
  pathLength = length;
}

bool StageTree::observe(EpochBoard::State now) {
  if (now == state)
    return false;
  before = state;
  state = now;
  if (!now.ended)
    confirmedLast = now.confirmed;
  ++marks;
  return true;
}

void StageTree::note(const EpochMark &mark) {
  if (!inBand || mark.confirmed > inBand->confirmed ||
      (mark.confirmed == inBand->confirmed && mark.ended))
    inBand = mark;
}

bool StageTree::lives(NodeId node, NodeId parent, bool certain) {
  if (state.ended && node <= state.confirmed)
    return false;
  if (certain || node == state.confirmed)
    return true;
  return node > state.confirmed && livesBelow(parent);
}

/// Returns whether a speculative row with this parent lives.
bool StageTree::livesBelow(NodeId parent) {
  bool verdict = false;
  NodeId at = parent;
  while (true) {
    if (at <= state.confirmed) {
      verdict = at == state.confirmed;
      break;
    }
    StageNode *node = find(at);
    if (!node)
      break;
    if (node->certain || node->judged == marks) {
      verdict = node->certain || node->lives;
      break;
    }
    at = node->parent;
  }
  for (NodeId passed = parent; passed != at;) {
    StageNode *node = find(passed);
    node->lives = verdict;
    node->judged = marks;
    passed = node->parent;
  }
  return verdict;
}

bool StageTree::livedBy(const EpochBoard::State &then, const Row &row) {
  if (then.confirmed < before.confirmed ||
      (then.confirmed == before.confirmed && then.ended <= before.ended))
    return true;
  if (then.ended && row.node <= then.confirmed)
    return false;
  if (row.certain || row.node == then.confirmed)
    return true;
  NodeId at = row.node < then.confirmed ? noNode : row.parent;
  while (at > then.confirmed) {
    // On a device it may have left before this row.
    const StageNode *node = findAny(at);
    if (!node || node->certain)
      return node != nullptr;
    at = node->parent;
  }
  return at == then.confirmed;
}

/// Returns whether the node can still be looked up. Of the certain nodes only
/// the last one is, because paths continue after it. A node before the
/// confirmed one is dead, or certain and not needed any more.
bool StageTree::matters(const StageNode &node, uint64_t step) {
  if (node.node < firstNode || node.hasLeft)
    return false;
  if (node.step == step || node.node == state.confirmed)
    return true;
  if (node.certain)
    return node.node == lastCertain && node.node > state.confirmed;
  return lives(node);
}

Status StageTree::checkRoom(NodeId node, uint64_t step) {
  const StageNode &there = ring[static_cast<uint64_t>(node) & mask];
  if (there.node == node || !matters(there, step))
    return {};
  return failure("stage: request ", slot, ": rows ", there.node, " and ", node,
                 " are in flight at once, with a limit of ", limit);
}

StageNode &StageTree::insert(const Row &row, SequenceId sequence, uint64_t step,
                             int32_t index) {
  StageNode &node = ring[static_cast<uint64_t>(row.node) & mask];
  node = {};
  node.node = row.node;
  node.parent = row.parent;
  node.position = row.position;
  node.token = row.token;
  node.sequence = sequence;
  node.row = index;
  node.step = step;
  if (row.certain)
    makeCertain(node);
  return node;
}

void StageTree::makeCertain(StageNode &node) {
  node.certain = true;
  lastCertain = std::max(lastCertain, node.node);
}

StageNode *StageTree::findAny(NodeId node) {
  StageNode &found = ring[static_cast<uint64_t>(node) & mask];
  return found.node == node && node >= firstNode ? &found : nullptr;
}

bool StageTree::isOrphan(const StageNode &node, uint64_t step) {
  bool verdict = false;
  NodeId at = node.parent;
  while (true) {
    const StageNode *above = findAny(at);
    if (!above || above->step != step)
      break;
    if (above->hasLeft || above->orphanJudged == step) {
      verdict = above->hasLeft || above->isOrphan;
      break;
    }
    at = above->parent;
  }
  for (NodeId passed = node.node; passed != at;) {
    StageNode *each = findAny(passed);
    each->isOrphan = verdict;
    each->orphanJudged = step;
    passed = each->parent;
  }
  return verdict;
}

void StageTree::keepPath(const StageNode &node) {
  if (tokens.empty())
    return;
  const StageNode *at = &node;
  int64_t position = node.position;
  while (true) {
    if (position < pathLength && nodes[position] == at->node)
      break;
    nodes[position] = at->node;
    tokens[position] = at->token;
    // The tokens after the node belong to another path. Those before it stay if
    // they are the same; that is why an older ancestor need not be known any
    // more.
    if (position == 0 ||
        (position <= pathLength && nodes[position - 1] == at->parent))
      break;
    at = find(at->parent);
    assert(at && "an ancestor that is not known was not kept either");
    if (!at)
      break;
    --position;
  }
  pathLength = node.position + 1;
}

std::span<const int32_t> StageTree::path(const StageNode &node) {
  assert(!tokens.empty() && "the stage was told to keep no tokens");
  keepPath(node);
  return {tokens.data(), static_cast<size_t>(pathLength)};
}

} // namespace sluice
