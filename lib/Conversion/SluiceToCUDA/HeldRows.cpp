//===- HeldRows.cpp - what of a row stays in registers ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldRows.h"

#include "DeviceRules.h"
#include "ThreadOrder.h"

using namespace mlir;
using namespace sluice::tocuda;

/// Numbers of a thread that wait in registers for a later loop, at most. A
/// block of 1024 threads has 64 registers for each.
static constexpr int64_t mostHeld = 24;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The columns of a task's widest item.
static int64_t getWidth(const Task &task, const StepGraph &graph) {
  int64_t width = 1;
  for (const LoopItem &item : task.items) {
    width = std::max(width, item.width);
    if (item.node)
      for (unsigned output : item.node->outputs)
        width = std::max(width, graph.buffers[output].width);
  }
  return width;
}

RowShape sluice::tocuda::getShape(const Task &task, const StepGraph &graph,
                                  const llvm::BitVector &inRegisters) {
  // All of one width: DeviceRules::sumsOneWidth.
  for (const LoopItem &item : task.items)
    if (llvm::any_of(item.passes, [](ColumnPass pass) { return pass.isSum(); }))
      return getBlockShape(item.width);
  int64_t width = getWidth(task, graph);
  return needsBlock(task.items, inRegisters) ? getBlockShape(width)
                                             : getSpreadShape(width);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

SmallVector<Value> sluice::tocuda::getWeights(const ColumnPass &pass) {
  return pass.isLast() ? pass.node->getVectorWeights() : SmallVector<Value>();
}

/// The numbers of rows of these widths that a thread has; more than there are
/// registers for where it has them one after another.
static int64_t countHeld(ArrayRef<int64_t> widths, RowShape shape) {
  int64_t numbers = 0;
  for (int64_t width : widths) {
    int64_t lanes = getLanes({width});
    if (!shape.isUnrolled(width / lanes))
      return mostHeld + 1;
    numbers += shape.countTurns(width / lanes) * lanes;
  }
  return numbers;
}

HeldRows sluice::tocuda::findHeld(const Task &task, const StepGraph &graph,
                                  RowShape shape) {
  HeldRows held;
  SmallVector<int64_t> widths;
  held.buffers = findReread(task.items);
  for (unsigned buffer : held.buffers)
    widths.push_back(graph.buffers[buffer].width);
  if (countHeld(widths, shape) > mostHeld) {
    held.buffers.clear();
    widths.clear();
  }
  for (const LoopItem &item : task.items)
    for (const ColumnPass &pass : item.passes)
      widths.append(getWeights(pass).size(), item.width);
  held.weights = countHeld(widths, shape) <= mostHeld;
  return held;
}

void sluice::tocuda::keepInRegisters(const StepGraph &graph,
                                     StepSchedule &schedule) {
  SmallVector<unsigned> readers = countReaders(graph);
  for (const Task &task : schedule.tasks) {
    if (!task.isRowLoop())
      continue;
    RowShape shape = getShape(task, graph, schedule.inRegisters);
    HeldRows held = findHeld(task, graph, shape);
    // Of those that this task's loops over columns make.
    llvm::DenseMap<unsigned, unsigned> readHere;
    for (const Node *node : task.nodes)
      if (node->kind == Node::Kind::Columns)
        readHere[node->outputs.front()] = 0;
    for (const LoopItem &item : task.items)
      for (const ColumnPass &pass : item.passes)
        if (pass.isLast())
          for (unsigned input : pass.node->inputs)
            if (auto found = readHere.find(input); found != readHere.end())
              ++found->second;
    for (auto [buffer, count] : readHere)
      if (held.buffers.contains(buffer) && count == readers[buffer])
        schedule.inRegisters.set(buffer);
  }
}
