//===- BranchTable.cpp - which sequence holds which path of guesses -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/BranchTable.h"

#include <algorithm>

namespace sluice {

BranchTable::BranchTable(CachePages &pages, int64_t requests)
    : pages(pages), branches(static_cast<size_t>(pages.limits().sequences)),
      first(static_cast<size_t>(requests), none) {}

void BranchTable::link(RequestId request, SequenceId sequence) {
  branches[sequence] = {request, noNode, first[request], 0};
  first[request] = sequence;
}

/// Closes the branches of the request for which `goes` returns true.
template <typename Goes>
void BranchTable::closeWhere(RequestId request, Goes goes) {
  for (SequenceId *link = &first[request]; *link != none;) {
    SequenceId sequence = *link;
    Branch &branch = branches[sequence];
    if (!goes(sequence)) {
      link = &branch.next;
      continue;
    }
    *link = branch.next;
    branch = {};
    pages.close(sequence);
  }
}

/// Returns whether the branch holds the node, and if so fills in `holder`.
bool BranchTable::inspect(StageTree &tree, SequenceId sequence,
                          const StageNode &node, Holder &holder) {
  if (branches[sequence].request != tree.request() ||
      pages.length(sequence) <= node.position)
    return false;
  bool dead = true;
  NodeId at = branches[sequence].tip;
  while (at != node.node) {
    StageNode *behind = at > node.node ? tree.find(at) : nullptr;
    if (!behind)
      return false;
    dead = dead && !tree.lives(*behind);
    at = behind->parent;
  }
  holder = {sequence, node.node == branches[sequence].tip, dead};
  return true;
}

/// Finds a branch that holds the node. It is mostly the one in the sequence
/// that the node was computed for.
BranchTable::Holder BranchTable::holderOf(StageTree &tree,
                                          const StageNode &node) {
  Holder holder;
  if (inspect(tree, node.sequence, node, holder))
    return holder;
  for (SequenceId at = first[tree.request()]; at != none;
       at = branches[at].next)
    if (inspect(tree, at, node, holder))
      break;
  return holder;
}

void BranchTable::cut(SequenceId sequence, NodeId tip, int64_t length) {
  branches[sequence].tip = tip;
  pages.truncate(sequence, length);
}

Expected<BranchTable::BranchEnd>
BranchTable::extend(SequenceId sequence, const Row &row, uint64_t step) {
  assert(pages.length(sequence) == row.position);
  BranchEnd place{sequence, std::nullopt, std::nullopt};
  // A copy needs no mirrored rows of this step: every other holder of the page
  // holds all rows in it, so the rows up to here are from earlier steps.
  Status grown = pages.grow(sequence, int64_t{row.position} + 1, &place.copy);
  if (!grown.ok())
    return grown;
  branches[sequence].tip = row.node;
  branches[sequence].step = step;
  return place;
}

Expected<BranchTable::BranchEnd>
BranchTable::fork(SequenceId parent, const Row &row, uint64_t step) {
  Expected<CachePages::Fork> forked = pages.fork(parent, row.position);
  if (!forked)
    return forked.status();
  link(row.request, forked->sequence);
  Expected<BranchEnd> place = extend(forked->sequence, row, step);
  if (!place) {
    closeWhere(row.request,
               [&](SequenceId at) { return at == forked->sequence; });
    return place;
  }
  if (forked->copy) {
    place->copy = forked->copy;
    place->copiedFrom = row.position - row.position % CachePages::pageTokens;
  }
  return place;
}

Expected<SequenceId> BranchTable::begin(RequestId request, NodeId tip,
                                        std::span<const int32_t> prefix) {
  Expected<SequenceId> opened = pages.open(prefix);
  if (!opened)
    return opened;
  link(request, *opened);
  branches[*opened].tip = tip;
  return opened;
}

Expected<BranchTable::BranchEnd> BranchTable::openFirst(const Row &row,
                                                        uint64_t step) {
  Expected<SequenceId> opened = begin(row.request, noNode, {});
  if (!opened)
    return opened.status();
  Expected<BranchEnd> place = extend(*opened, row, step);
  if (!place)
    closeWhere(row.request, [&](SequenceId at) { return at == *opened; });
  return place;
}

Expected<std::optional<BranchTable::BranchEnd>>
BranchTable::place(StageTree &tree, const Row &row, uint64_t step) {
  auto result =
      [](Expected<BranchEnd> place) -> Expected<std::optional<BranchEnd>> {
    if (!place)
      return place.status();
    return std::optional<BranchEnd>(place.take());
  };
  // If no row follows a repeated row on its branch, it is computed again in
  // place. Otherwise the rows after it stay there, and the row gets another
  // branch.
  StageNode *known = tree.find(row.node);
  if (known) {
    Holder holder = holderOf(tree, *known);
    if (holder.isTip) {
      cut(holder.sequence, row.parent, row.position);
      return result(extend(holder.sequence, row, step));
    }
  }
  if (row.parent == noNode)
    return result(openFirst(row, step));
  StageNode *parent = tree.find(row.parent);
  assert(parent && "the caller has looked");
  Holder holder = holderOf(tree, *parent);
  if (holder.sequence == none)
    return std::optional<BranchEnd>();
  if (!holder.isTip && (known || !holder.restIsDead))
    return result(fork(holder.sequence, row, step));
  if (!holder.isTip)
    cut(holder.sequence, row.parent, row.position);
  return result(extend(holder.sequence, row, step));
}

bool BranchTable::prune(StageTree &tree, uint64_t step) {
  NodeId confirmed = tree.confirmed();
  if (!tree.find(confirmed))
    return false;
  bool complete = true;
  closeWhere(tree.request(), [&](SequenceId sequence) {
    NodeId tip = branches[sequence].tip;
    StageNode *node = tip > confirmed ? tree.find(tip) : nullptr;
    if (tip == confirmed || (node && tree.lives(*node)))
      return false;
    if (branches[sequence].step != step)
      return true;
    complete = false;
    return false;
  });
  return complete;
}

void BranchTable::dropDeparted(StageTree &tree) {
  closeWhere(tree.request(), [&](SequenceId sequence) {
    NodeId tip = branches[sequence].tip;
    int64_t length = pages.length(sequence);
    for (StageNode *node = tree.findAny(tip); node && node->hasLeft;
         node = tree.findAny(tip)) {
      tip = node->parent;
      length = node->position;
    }
    cut(sequence, tip, length);
    return length == 0;
  });
}

/// Whether the path to `tip` contains the confirmed node `node`: going up, the
/// path reaches that node or one that was confirmed later. A node that was
/// known when the request opened is on the path to every certain row after it.
bool BranchTable::leadsTo(StageTree &tree, NodeId tip, NodeId node) const {
  const OpenRequest &opened = tree.opened();
  bool wasKnown = node < opened.firstNode + opened.knownTokens;
  NodeId later = std::max(node, tree.lastConfirmed());
  for (NodeId at = tip; at >= node;) {
    if (at == node || at == later)
      return true;
    StageNode *behind = tree.find(at);
    if (!behind)
      return false;
    if (wasKnown && behind->certain)
      return true;
    at = behind->parent;
  }
  return false;
}

std::optional<int32_t> BranchTable::pageOf(StageTree &tree, NodeId node,
                                           int64_t index) const {
  int64_t end = (index + 1) * CachePages::pageTokens;
  if (StageNode *known = tree.find(node); known && known->position + 1 < end)
    return std::nullopt;
  for (SequenceId at = first[tree.request()]; at != none;
       at = branches[at].next)
    if (pages.length(at) >= end && leadsTo(tree, branches[at].tip, node))
      return pages.pages(at)[static_cast<size_t>(index)];
  return std::nullopt;
}

void BranchTable::close(RequestId request) {
  closeWhere(request, [](SequenceId) { return true; });
}

} // namespace sluice
