//===- ExplainTasks.cpp - tables of the tasks of steps on a CPU -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/ExplainTasks.h"

#include "StepParts.h"
#include "runtime/cluster/Units.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Support/TextTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// A task of a step.
struct TaskLine {
  std::string task;
  std::string purpose;
  std::string product; ///< its weight and columns; empty if it is no product
  uint64_t weightBytes = 0;
  bool waits = false; ///< whether all threads wait for each other before it
  bool isRowLoop = false;
  std::optional<int64_t> layer;
};

using Part = StepPart<TaskLine>;

/// Describes the tasks of one step.
class TaskReader {
public:
  explicit TaskReader(StepOp step) : step(step) {}

  std::vector<TaskLine> read() {
    bool waits = false;
    for (Operation &op : step.getBody().front()) {
      if (isa<BarrierOp>(op))
        waits = true;
      if (!isa<TaskInterface>(op))
        continue;
      TaskLine &line = lines.emplace_back();
      line.waits = waits || isa<TaskCheckpointOp>(op);
      waits = false;
      if (auto layer = op.getAttrOfType<IntegerAttr>("layer"))
        line.layer = layer.getInt();
      describe(&op, line);
    }
    return std::move(lines);
  }

private:
  void describe(Operation *task, TaskLine &line) const {
    llvm::TypeSwitch<Operation *>(task)
        .Case([&](TaskRowsOp op) { describe(op, line); })
        .Case([&](TaskProductOp op) { describe(op, line); })
        .Case([&](TaskAppendOp) { line.purpose = "keys and values"; })
        .Case([&](TaskExchangeOp op) {
          line.purpose = stringifyExchangeKind(op.getKind()).str();
        });
    if (line.task.empty())
      line.task = task->getName().stripDialect().drop_front(5).str();
  }

  std::string nameOf(Value param, const TaskLine &line) const {
    StringRef symbol = param.getDefiningOp<ParamOp>().getWeight();
    if (auto slice =
            step->getParentOfType<ModuleOp>().lookupSymbol<SliceOp>(symbol))
      symbol = slice.getWeight();
    std::string name = shortWeightName(symbol, line.layer);
    // A row loop may begin the next layer, as the first norm of it does.
    int64_t next = line.layer ? *line.layer + 1
                              : static_cast<int64_t>(step.getFirstLayer());
    std::string ofNext = shortWeightName(symbol, next);
    return name != shortWeightName(symbol, std::nullopt) || name == ofNext
               ? name
               : "next " + ofNext;
  }

  static uint64_t bytesOf(Value param) {
    auto type = cast<RankedTensorType>(param.getType());
    return getWeightBytes(type, getElementFormat(type)).value_or(0);
  }

  /// Names the ops with the weights that they read. Of a table a row is read.
  void describe(TaskRowsOp loop, TaskLine &line) const {
    line.task = "row loop";
    line.isRowLoop = true;
    SmallVector<std::string> ops;
    for (Operation &op : loop.getRowOps()) {
      std::string text = op.getName().stripDialect().str();
      for (Value operand : op.getOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.getType());
        if (!type || isRows(type))
          continue;
        Value param = loop.getWeight(operand);
        text += " " + nameOf(param, line);
        int64_t rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
        line.weightBytes += bytesOf(param) / static_cast<uint64_t>(rows);
      }
      ops.push_back(std::move(text));
    }
    line.purpose = llvm::join(ops, ", ");
  }

  void describe(TaskProductOp product, TaskLine &line) const {
    int64_t first = product.getFirstColumn(), end = product.getEndColumn();
    line.product = nameOf(product.getWeight(), line);
    if (!product.isWhole())
      line.product +=
          "[" + std::to_string(first) + ":" + std::to_string(end) + "]";
    line.purpose = line.product;
    uint64_t bytes = bytesOf(product.getWeight());
    if (Value bias = product.getBias()) {
      line.purpose += ", bias";
      bytes += bytesOf(bias);
    }
    line.weightBytes = bytes * static_cast<uint64_t>(end - first) /
                       static_cast<uint64_t>(product.getOutFeatures());
  }

  mutable StepOp step;
  std::vector<TaskLine> lines;
};

/// The sums of the table.
struct Sums {
  int64_t tasks = 0, rowLoops = 0, waits = 0;
  uint64_t weightBytes = 0;

  void add(const TaskLine &line, int64_t times) {
    tasks += times;
    rowLoops += line.isRowLoop ? times : 0;
    waits += line.waits ? times : 0;
    weightBytes += line.weightBytes * static_cast<uint64_t>(times);
  }
};

} // namespace

/// Returns whether two tasks are equal except for their layer.
static bool areEqual(const TaskLine &a, const TaskLine &b) {
  return a.task == b.task && a.purpose == b.purpose &&
         a.weightBytes == b.weightBytes && a.waits == b.waits;
}

/// Returns an empty string if no weights are read.
static std::string formatWeights(uint64_t bytes) {
  return bytes == 0 ? "" : cluster::formatBytes(double(bytes));
}

static std::string printSums(ArrayRef<Part> parts) {
  TextTable table(
      {"part", "tasks", "row loops", "barriers", "weights", "products"},
      /*left=*/{0, 5});
  auto add = [&](const std::string &name, const Sums &sums,
                 const std::string &products) {
    table.add({name, std::to_string(sums.tasks), std::to_string(sums.rowLoops),
               std::to_string(sums.waits), formatWeights(sums.weightBytes),
               products});
  };
  Sums step;
  for (const Part &part : parts) {
    Sums sums;
    SmallVector<std::string> products;
    for (const TaskLine &line : part.lines) {
      sums.add(line, 1);
      step.add(line, part.layers);
      if (!line.product.empty())
        products.push_back(line.product);
    }
    add(part.heading(), sums, llvm::join(products, ", "));
  }
  add("step", step, "");
  return table.print();
}

static std::string printList(const Part &part) {
  TextTable table({"", "task", "for", "weights", "after"},
                  /*left=*/{1, 2, 4});
  for (auto [index, line] : llvm::enumerate(part.lines))
    table.add({std::to_string(index + 1), line.task, line.purpose,
               formatWeights(line.weightBytes), line.waits ? "a barrier" : ""});
  return "\n" + part.heading() + "\n" + table.print();
}

std::string sluice::explainTasks(ModuleOp plan) {
  ProgramTables tables;
  for (StepOp step : plan.getOps<StepOp>()) {
    if (!isa<CpuTargetAttr>(step.getTarget()))
      continue;
    std::vector<Part> parts = splitByLayers<TaskLine>(
        TaskReader(step).read(),
        [](const TaskLine &line) { return line.layer; }, areEqual);
    std::string text = printSums(parts);
    for (const Part &part : parts)
      text += printList(part);
    tables.add(step.getSymName().str(), std::move(text));
  }
  return tables.print("tasks of a step of ", " on a CPU");
}
