//===- StepSchedule.cpp - nodes as row loops and calls --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSchedule.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

/// Of a node that goes over the columns.
static unsigned countPasses(const Node &node) {
  if (node.kind == Node::Kind::RowOperand)
    return static_cast<unsigned>(node.index) + 1;
  if (isa<RmsNormOp>(node.op))
    return 2;
  return isa<LayerNormOp>(node.op) ? 3 : 1;
}

bool ColumnPass::isLast() const { return number + 1 == countPasses(*node); }

bool ColumnPass::isSum() const {
  return node->kind == Node::Kind::Columns && !isLast();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

namespace {

/// Takes nodes out of the graph's order as their inputs become ready.
class Scheduler {
public:
  Scheduler(const StepGraph &graph, const StepTarget &target)
      : graph(graph), target(target), written(graph.buffers.size()) {}

  std::vector<Task> run() {
    for (const Node &node : graph.nodes) {
      if (node.kind != Node::Kind::Checkpoint) {
        pending.push_back(&node);
        continue;
      }
      takePending();
      tasks.push_back({node.domain, {&node}, {}});
    }
    takePending();
    return std::move(tasks);
  }

private:
  void takePending() {
    while (!pending.empty()) {
      takeRowLoop(Domain::Rows);
      takeRowLoop(Domain::Outputs);
      takeCalls();
    }
  }

  bool isReady(const Node &node) const {
    return llvm::all_of(node.inputs,
                        [&](unsigned input) { return written[input]; });
  }

  void finish(const Node &node) {
    for (unsigned output : node.outputs)
      written.set(output);
  }

  /// The width of the rows that a node adds up; 0: it does not.
  int64_t getSumWidth(const Node &node) const {
    if (!ColumnPass{&node, 0}.isSum())
      return 0;
    return graph.buffers[node.inputs.front()].width;
  }

  /// All row-wise nodes of a domain that are ready or become so on the way: the
  /// graph's order has producers first. Sums over rows of another width are
  /// left to the next loop where the target wants that.
  void takeRowLoop(Domain domain) {
    Task task{domain, {}, {}};
    int64_t summed = 0;
    llvm::erase_if(pending, [&](const Node *node) {
      if (!target.isInRowLoops(node->kind) || node->domain != domain ||
          !isReady(*node))
        return false;
      if (int64_t width = getSumWidth(*node)) {
        if (target.sumsOneWidth() && summed != 0 && summed != width)
          return false;
        summed = width;
      }
      finish(*node);
      task.nodes.push_back(node);
      return true;
    });
    if (!task.nodes.empty())
      tasks.push_back(std::move(task));
  }

  /// The calls that are ready now; those that need one of them wait, so that
  /// row loops and calls beside them share their barrier.
  void takeCalls() {
    SmallVector<const Node *> calls;
    llvm::erase_if(pending, [&](const Node *node) {
      if (target.isInRowLoops(node->kind) || !isReady(*node))
        return false;
      calls.push_back(node);
      return true;
    });
    for (const Node *call : calls) {
      finish(*call);
      tasks.push_back({call->domain, {call}, {}});
    }
  }

  const StepGraph &graph;
  const StepTarget &target;
  llvm::BitVector written;
  std::vector<const Node *> pending; // up to the next checkpoint
  std::vector<Task> tasks;
};

} // namespace

//===----------------------------------------------------------------------===//
// Column loops
//===----------------------------------------------------------------------===//

/// Appends a pass to the last item where that is a loop over as many columns,
/// and else to a new one. A pass never joins the loop of the pass before it,
/// whose scalar it needs.
static void addPass(SmallVectorImpl<LoopItem> &items, ColumnPass pass,
                    int64_t width) {
  auto isPassBefore = [&](const ColumnPass &other) {
    return other.node == pass.node;
  };
  if (items.empty() || items.back().node || items.back().width != width ||
      llvm::any_of(items.back().passes, isPassBefore)) {
    items.emplace_back();
    items.back().width = width;
  }
  items.back().passes.push_back(pass);
}

static void formColumnLoops(Task &task, const StepGraph &graph) {
  for (const Node *node : task.nodes) {
    if (node->kind != Node::Kind::Columns &&
        node->kind != Node::Kind::RowOperand) {
      task.items.emplace_back();
      task.items.back().node = node;
      continue;
    }
    int64_t width = graph.buffers[node->outputs.front()].width;
    for (unsigned number = 0; number < countPasses(*node); ++number)
      addPass(task.items, {node, number}, width);
  }
}

/// Finds the values that never leave the column loop that makes them.
static llvm::BitVector findRegisterValues(const StepGraph &graph,
                                          ArrayRef<Task> tasks) {
  // The column loop that makes each buffer; none for those made otherwise.
  DenseMap<unsigned, const LoopItem *> makers;
  llvm::BitVector inRegisters(graph.buffers.size());
  for (const Task &task : tasks)
    for (const LoopItem &item : task.items)
      for (const ColumnPass &pass : item.passes)
        if (pass.isLast()) {
          makers[pass.node->outputs.front()] = &item;
          inRegisters.set(pass.node->outputs.front());
        }

  auto read = [&](const Node *node, const LoopItem *reader) {
    for (unsigned input : node->inputs)
      if (makers.lookup(input) != reader)
        inRegisters.reset(input);
  };
  for (const Task &task : tasks) {
    if (!task.isRowLoop())
      read(task.nodes.front(), nullptr);
    for (const LoopItem &item : task.items) {
      if (item.node)
        read(item.node, nullptr);
      for (const ColumnPass &pass : item.passes)
        read(pass.node, &item);
    }
  }
  if (graph.logits)
    inRegisters.reset(*graph.logits);
  return inRegisters;
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

SmallVector<Access> StepSchedule::getAccesses(const Task &task) const {
  Share share = Share::Whole;
  if (task.isRowLoop())
    share = task.domain == Domain::Rows ? Share::Rows : Share::Outputs;
  SmallVector<Access> accesses;
  for (const Node *node : task.nodes) {
    // Picks its rows from those of all threads.
    bool gathers = node->kind == Node::Kind::SelectOutputs;
    for (unsigned input : node->inputs)
      if (!inRegisters[input])
        accesses.push_back({input, gathers ? Share::Whole : share, false});
    for (unsigned output : node->outputs)
      if (!inRegisters[output])
        accesses.push_back({output, share, true});
  }
  return accesses;
}

StepSchedule sluice::planning::scheduleStep(const StepGraph &graph,
                                            const StepTarget &target) {
  StepSchedule schedule;
  schedule.tasks = Scheduler(graph, target).run();
  for (Task &task : schedule.tasks)
    if (target.isInRowLoops(task.nodes.front()->kind))
      formColumnLoops(task, graph);
  schedule.inRegisters = findRegisterValues(graph, schedule.tasks);
  return schedule;
}
