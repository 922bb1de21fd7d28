//===- ThreadOrder.cpp - where threads need those of their block --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice::tocuda;

/// Whether an item's threads write the columns that they have in loops over
/// columns.
static bool writesOwn(const LoopItem &item) {
  return !item.node || item.node->kind == Node::Kind::SelectOutputs;
}

/// The nodes of an item.
static SmallVector<const Node *> getNodes(const LoopItem &item) {
  SmallVector<const Node *> nodes;
  if (item.node)
    nodes.push_back(item.node);
  for (const ColumnPass &pass : item.passes)
    nodes.push_back(pass.node);
  return nodes;
}

bool ThreadOrder::needsBarrier(const LoopItem &item) {
  SmallVector<const Node *> nodes = getNodes(item);
  bool readsOthers = llvm::any_of(nodes, [&](const Node *node) {
    return llvm::any_of(node->inputs, [&](unsigned input) {
      auto found = written.find(input);
      return found != written.end() && (item.node || !found->second);
    });
  });
  if (readsOthers)
    written.clear();
  for (const Node *node : nodes)
    for (unsigned output : node->outputs)
      if (!inRegisters[output])
        written[output] = writesOwn(item);
  return readsOthers;
}

int64_t sluice::tocuda::countReductions(ArrayRef<LoopItem> items) {
  int64_t reductions = 0;
  for (const LoopItem &item : items)
    reductions += llvm::count_if(
        item.passes, [](const ColumnPass &pass) { return !pass.isLast(); });
  return reductions;
}

bool sluice::tocuda::needsBlock(ArrayRef<LoopItem> items,
                                const llvm::BitVector &inRegisters) {
  ThreadOrder order(inRegisters);
  return countReductions(items) > 0 ||
         llvm::any_of(items, [&](const LoopItem &item) {
           return order.needsBarrier(item);
         });
}

llvm::DenseSet<unsigned> sluice::tocuda::findReread(ArrayRef<LoopItem> items) {
  llvm::DenseMap<unsigned, const LoopItem *> touched; // first
  llvm::DenseSet<unsigned> reread;
  for (const LoopItem &item : items) {
    if (!writesOwn(item))
      continue;
    for (const Node *node : getNodes(item)) {
      if (!item.node)
        for (unsigned input : node->inputs)
          if (touched.try_emplace(input, &item).first->second != &item)
            reread.insert(input);
      for (unsigned output : node->outputs)
        touched.try_emplace(output, &item);
    }
  }
  return reread;
}
