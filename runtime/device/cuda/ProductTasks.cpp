//===- ProductTasks.cpp - the nodes of products and their tails --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/ProductTasks.h"

#include "runtime/device/cuda/DenseLinear.h"
#include "runtime/device/cuda/JoinedTasks.h"
#include "runtime/device/cuda/TaskContext.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

static_assert(int(OperandRows::F32) == int(OperandKind::F32) &&
              int(OperandRows::Bf16) == int(OperandKind::BF16) &&
              int(OperandRows::F16) == int(OperandKind::F16));
static_assert(int(RowNormKind::None) == int(Norm::None) &&
              int(RowNormKind::Rms) == int(Norm::Rms) &&
              int(RowNormKind::Layer) == int(Norm::Layer));
static_assert(int(ProductGate::None) == int(Gate::None) &&
              int(ProductGate::Silu) == int(Gate::Silu) &&
              int(ProductGate::GeluTanh) == int(Gate::GeluTanh));

namespace {

/// Returns whether the kernels for prompts compute it: there are more rows than
/// other kernels take at once.
bool takesTiles(WeightKind kind, int32_t rows, int32_t sharedBytes) {
  return rows > 64 && kind != WeightKind::F32 &&
         linearTileStages(kind, sharedBytes) >= 2;
}

class ProductAppender : public TaskContext {
public:
  using TaskContext::TaskContext;

  /// Returns the arguments of a launch of the product alone.
  std::optional<LinearArguments> argumentsOf(const ProductTask &task);
  void appendAll(WeightKind kind, RecordKind records,
                 std::span<LinearArguments> products, const RowTail &tail);
  void append(const OperandTask &task);
  NormArguments argumentsOf(const RowNorm &norm, int64_t threads);
  /// The ticket of all tails.
  uint32_t *tailTicket() const { return inArena<uint32_t>(memory.tailTicket); }

private:
  bool checkColumns(const ProductTask &task, const std::string &name,
                    const WeightSpec &spec);
  void appendTiles(WeightKind kind, int32_t rows, LinearArguments &arguments);
  void appendJoined(WeightKind kind, int32_t rows,
                    std::span<const LinearArguments> products,
                    const RowTail &tail);
};

} // namespace

void ProductAppender::append(const OperandTask &task) {
  OperandArguments arguments = {};
  const int64_t features = buffer(task.input).floats;
  arguments.kind = static_cast<OperandKind>(task.format);
  const OperandParts parts =
      operandParts(task.output, features, arguments.kind);
  arguments.x = addressOf(task.input);
  arguments.operand = parts.rows;
  arguments.scales = parts.scales;
  arguments.sums = parts.sums;
  arguments.rowCount = graph.count(task.kind);
  arguments.features = static_cast<int32_t>(features);
  graph.append("sluice_operand_rows",
               {static_cast<uint32_t>(graph.capacity(task.kind)), 1, 1},
               uint32_t(operandThreads(arguments.features)), operandSharedBytes,
               arguments);
}

/// Launches the kernel for prompts.
void ProductAppender::appendTiles(WeightKind kind, int32_t rows,
                                  LinearArguments &arguments) {
  arguments.rows.stages = linearTileStages(kind, graph.context.sharedBytes);
  graph.append(
      std::string("sluice_linear_tile_") + nameOf(kind),
      {uint32_t(divideUp(rows, linearTileRows)),
       uint32_t(divideUp(arguments.columns.tiles, linearTileColumnTiles)), 1},
      linearTileThreads,
      uint32_t(arguments.rows.stages * linearTileStageBytes(kind)), arguments);
}

void ProductAppender::appendJoined(WeightKind kind, int32_t rows,
                                   std::span<const LinearArguments> products,
                                   const RowTail &tail) {
  JoinedLinearArguments joined = {};
  joined.rows = products.front().rows;
  joined.tail = tail;
  for (const LinearArguments &each : products)
    joined.columns[joined.weights++] = each.columns;
  const int32_t each = linearRows(rows);
  graph.append(std::string("sluice_linear_") + nameOf(kind) + "_" +
                   std::to_string(each),
               {uint32_t(linearBlocks(joined)), uint32_t(linearParts(joined)),
                uint32_t(divideUp(rows, each))},
               linearThreads, uint32_t(linearSharedBytes(kind, each)), joined);
}

void ProductAppender::appendAll(WeightKind kind, RecordKind records,
                                std::span<LinearArguments> products,
                                const RowTail &tail) {
  const auto rows = static_cast<int32_t>(graph.capacity(records));
  if (isDense(graph.context.limits, kind, rows)) {
    for (const LinearArguments &each : products)
      addDenseLinear(&graph, kind, nameOf(kind), rows, each);
    return;
  }
  if (!takesTiles(kind, rows, graph.context.sharedBytes))
    return appendJoined(kind, rows, products, tail);
  for (LinearArguments &each : products)
    appendTiles(kind, rows, each);
}

/// Checks that the weight's kernels compute the task's columns.
bool ProductAppender::checkColumns(const ProductTask &task,
                                   const std::string &name,
                                   const WeightSpec &spec) {
  const int64_t begin = task.firstColumn, end = task.endColumn;
  const bool isWhole = begin == 0 && end == spec.outFeatures;
  if (end <= spec.outFeatures && begin % tileColumns == 0 &&
      (end % tileColumns == 0 || end == spec.outFeatures) &&
      (task.gate != ProductGate::None) == spec.gated &&
      (!spec.gated || isWhole))
    return true;
  failWith("weight '", name, "': columns ", begin, " to ", end, " of ",
           spec.outFeatures, " cannot be computed by themselves");
  return false;
}

std::optional<LinearArguments>
ProductAppender::argumentsOf(const ProductTask &task) {
  const auto *linear =
      std::get_if<LinearWeight>(&program.weights[size_t(task.weight)]);
  if (!linear || linear->isPartner) {
    failWith("weight ", task.weight, " is not one of products");
    return std::nullopt;
  }
  const WeightSpec spec = *weightSpec(*linear);
  if (!checkColumns(task, linear->name, spec))
    return std::nullopt;
  const OperandParts parts =
      operandParts(task.input, spec.inFeatures, operandKind(spec.kind));
  LinearRows rows = {};
  rows.x = parts.rows;
  rows.rowScales = parts.scales;
  rows.blockSums = parts.sums;
  rows.partials = inArena<float>(memory.partials);
  rows.tickets = inArena<uint32_t>(memory.tickets);
  rows.rowCount = graph.count(task.kind);
  rows.inFeatures = static_cast<int32_t>(spec.inFeatures);
  LinearColumns columns = {};
  columns.weight = weightAddress(task.weight);
  columns.bias = vectorAddress("a bias", task.bias, spec.outFeatures);
  columns.partnerBias =
      vectorAddress("a bias", task.partnerBias, spec.outFeatures);
  if (task.residual != noOperand)
    columns.residual = addressOf(task.residual);
  columns.y = addressOf(task.output);
  columns.outColumns = static_cast<int32_t>(task.endColumn - task.firstColumn);
  columns.firstTile = static_cast<int32_t>(task.firstColumn / tileColumns);
  columns.tiles = spec.gated ? static_cast<int32_t>(columnTiles(spec))
                             : divideUp(columns.outColumns, tileColumns);
  columns.splits = linearSplits(
      spec.kind, static_cast<int32_t>(spec.outFeatures), rows.inFeatures);
  columns.gate = static_cast<Gate>(task.gate);
  return LinearArguments{rows, columns};
}

void cuda::appendProducts(StepGraph &graph, size_t first, size_t count,
                          const RowTail &tail) {
  const CudaProgram &program = *graph.context.program;
  std::vector<LinearArguments> products;
  for (size_t number = first; number < first + count; ++number) {
    std::optional<LinearArguments> arguments =
        ProductAppender(graph, number)
            .argumentsOf(std::get<ProductTask>(program.step.tasks[number]));
    if (!arguments)
      return;
    products.push_back(*arguments);
  }
  const auto &task = std::get<ProductTask>(program.step.tasks[first]);
  const auto &weight =
      std::get<LinearWeight>(program.weights[size_t(task.weight)]);
  ProductAppender(graph, first)
      .appendAll(weightSpec(weight)->kind, task.kind, products, tail);
}

void cuda::appendOperand(StepGraph &graph, size_t number) {
  ProductAppender(graph, number)
      .append(std::get<OperandTask>(graph.context.program->step.tasks[number]));
}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

/// `threads` are those of the norm's generated kernel.
NormArguments ProductAppender::argumentsOf(const RowNorm &norm,
                                           int64_t threads) {
  const int64_t features = buffer(norm.input).floats;
  NormArguments arguments = {};
  arguments.norm = static_cast<Norm>(norm.norm);
  arguments.x = addressOf(norm.input);
  arguments.epsilon = norm.epsilon;
  arguments.features = static_cast<int32_t>(features);
  arguments.threads = static_cast<int32_t>(threads);
  if (norm.norm != RowNormKind::None) {
    arguments.weight = vectorAddress("a norm", norm.weight, features);
    arguments.bias = vectorAddress("a bias", norm.bias, features);
    if (threads < 32 || threads > maxNormThreads ||
        (threads & (threads - 1)) != 0)
      failWith("a norm by ", threads, " threads");
  }
  if (norm.output != noOperand)
    arguments.y = addressOf(norm.output);
  if (norm.operand != noOperand) {
    arguments.kind = static_cast<OperandKind>(norm.format);
    const OperandParts parts =
        operandParts(norm.operand, features, arguments.kind);
    arguments.operand = parts.rows;
    arguments.scales = parts.scales;
    arguments.sums = parts.sums;
  }
  return arguments;
}

void cuda::addToTail(StepGraph &graph, size_t number, RowTail &tail) {
  const StepTask &task = graph.context.program->step.tasks[number];
  const auto *loop = std::get_if<RowLoopTask>(&task);
  ProductAppender appender(graph, number);
  tail.ticket = appender.tailTicket();
  for (const RowNorm &norm : tailNorms(task))
    tail.norms[tail.count++] =
        appender.argumentsOf(norm, loop ? loop->threads : 0);
}
