//===- GraphTasks.cpp - the nodes of a plan's tasks -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/GraphTasks.h"

#include "runtime/device/cuda/AttentionTasks.h"
#include "runtime/device/cuda/JoinedTasks.h"
#include "runtime/device/cuda/ProductTasks.h"
#include "runtime/device/cuda/StepExchanges.h"
#include "runtime/device/cuda/TaskContext.h"
#include "runtime/device/cuda/kernels/EmbedABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

namespace {

/// Appends the nodes of tasks that share no launch.
class TaskAppender : public TaskContext {
public:
  using TaskContext::TaskContext;

  void append(const RowLoopTask &task);
  void append(const ProductTask &) {
    appendProducts(graph, number, 1, /*tail=*/{});
  }
  void append(const AppendTask &) { appendCache(graph, number); }
  void append(const AttendTask &) { appendAttention(graph, number, {}); }
  void append(const ExchangeTask &task);
  void append(const CheckpointTask &task);
  void append(const BarrierTask &) { failWith("a GPU has no barriers"); }
  void append(const EmbedTask &task);
  void append(const OperandTask &) { appendOperand(graph, number); }
  void append(const ReceiveTask &task);
  void append(const SendTask &task);

private:
  const void *argumentAddress(const KernelArgument &argument);
};

} // namespace

AppendedTasks cuda::appendTasks(StepGraph &graph, size_t first) {
  const CudaProgram &program = *graph.context.program;
  const StepTask &task = program.step.tasks[first];
  if (recordKindOf(task) == RecordKind::Outputs && !graph.outputsNumbered) {
    graph.outputsNumbered = true;
    graph.checkpointsBeforeOutputs = graph.checkpoints;
  }
  const bool oneTask = graph.context.oneTask;
  const size_t joined = oneTask ? 1 : joinedTasks(program, first);
  const size_t tails = oneTask || graph.capacity(recordKindOf(task)) > 1
                           ? 0
                           : tailTasks(program, first, first + joined);
  const int64_t before = graph.kernelCount;
  RowTail tail = {};
  for (size_t number = first + joined; number < first + joined + tails;
       ++number)
    addToTail(graph, number, tail);
  if (std::holds_alternative<ProductTask>(task))
    appendProducts(graph, first, joined, tail);
  else if (std::holds_alternative<AttendTask>(task))
    appendAttention(graph, first, tail);
  else if (joined == 2)
    appendCache(graph, first + 1, std::get<RowLoopTask>(task).rotations);
  else
    std::visit(
        [&](const auto &each) { TaskAppender(graph, first).append(each); },
        task);
  return {joined + tails, graph.kernelCount - before == 1};
}

//===----------------------------------------------------------------------===//
// Row loops
//===----------------------------------------------------------------------===//

const void *TaskAppender::argumentAddress(const KernelArgument &argument) {
  using Kind = KernelArgument::Kind;
  switch (argument.kind) {
  case Kind::Buffer:
    return addressOf(argument.index, argument.part);
  case Kind::Weight:
    return vectorAddress(argument.index);
  case Kind::RopeTable:
    return inArena<float>(memory.ropes[size_t(argument.index)]);
  case Kind::Positions:
    return graph.rowTable().positions;
  case Kind::OutputRows:
    return graph.pointer<int32_t>(graph.table(graph.layout.outputRows));
  case Kind::GreedyTokens:
    return inArena<int32_t>(memory.greedy);
  }
  return nullptr; // there is no other kind
}

void TaskAppender::append(const RowLoopTask &task) {
  if (task.threads == 0)
    return failWith("a row loop for a CPU");
  std::vector<uint64_t> words = {
      reinterpret_cast<uint64_t>(graph.count(task.kind))};
  for (const KernelArgument &argument : task.arguments)
    words.push_back(reinterpret_cast<uint64_t>(argumentAddress(argument)));
  auto grid = static_cast<uint32_t>(graph.capacity(task.kind) * task.blocks);
  graph.add(program.step.kernelNames[size_t(task.kernel)], {grid, 1, 1},
            static_cast<uint32_t>(task.threads), 0, std::move(words), 1);
}

//===----------------------------------------------------------------------===//
// Rows that come in and go out
//===----------------------------------------------------------------------===//

void TaskAppender::append(const EmbedTask &task) {
  const int64_t cols = buffer(task.output).floats;
  const auto *table =
      std::get_if<TableWeight>(&program.weights[size_t(task.table)]);
  if (!table || table->matrix.cols != cols)
    return failWith("weight ", task.table, " is not a table of ", cols,
                    " columns");
  const int64_t numbers =
      task.byPosition ? program.contextLength : program.vocabSize;
  if (table->matrix.rows < numbers)
    return failWith("weight '", table->name, "': a table of ",
                    table->matrix.rows, " rows has none for each ",
                    task.byPosition ? "position" : "token");
  if (graph.checkpoints > 0)
    return failWith("rows are looked up behind a checkpoint");
  const WeightKind kind = weightSpec(tilesOf(*table))->kind;
  const TableLayout &layout = graph.layout;
  EmbedArguments arguments = {};
  arguments.table = weightAddress(task.table);
  arguments.index = graph.pointer<int32_t>(
      graph.table(task.byPosition ? layout.positions : layout.tokens));
  arguments.out = addressOf(task.output);
  arguments.rowCount = graph.count(RecordKind::Rows);
  arguments.features = cols;
  const auto features = static_cast<int32_t>(cols);
  ++graph.lookups;
  graph.append(std::string("sluice_embed_") + nameOf(kind),
               {static_cast<uint32_t>(graph.rows),
                static_cast<uint32_t>(divideUp(features, embedFeatures(kind))),
                1},
               embedThreads, 0, arguments);
}

void TaskAppender::append(const ReceiveTask &task) {
  if (graph.kernelCount > graph.lookups)
    return failWith("rows come in behind other work");
  if (graph.received != 0)
    return failWith("rows come in twice");
  const float *rows = addressOf(task.output);
  graph.received = reinterpret_cast<DeviceAddress>(rows);
  if (program.members > 1)
    addBroadcast(&graph, rows, program.hiddenSize);
}

void TaskAppender::append(const SendTask &task) {
  if (graph.sent != 0)
    return failWith("rows are sent twice");
  graph.sent = reinterpret_cast<DeviceAddress>(addressOf(task.input));
}

//===----------------------------------------------------------------------===//
// Groups and checkpoints
//===----------------------------------------------------------------------===//

void TaskAppender::append(const ExchangeTask &task) {
  const CollectiveOperands operands = {task.kind, addressOf(task.input),
                                       addressOf(task.output),
                                       addressOf(task.scratch)};
  const int64_t part = buffer(task.input).floats;
  if (task.operation == ExchangeTask::Operation::Sum)
    addAllReduce(&graph, operands, part);
  else
    addAllGather(&graph, operands, part, buffer(task.output).floats);
}

void TaskAppender::append(const CheckpointTask &task) {
  std::vector<PlannedBuffer> buffers;
  for (int64_t index : task.buffers) {
    // Outputs keep their places.
    if (buffer(index).kind == RecordKind::Outputs)
      return failWith("buffer ", index, " has no rows that could move");
    buffers.push_back(buffer(index));
  }
  graph.addCheckpoint(buffers);
}
