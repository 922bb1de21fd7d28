//===- GraphTasks.cpp - the nodes of a plan's tasks -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/GraphTasks.h"

#include "runtime/device/cuda/AttendGrid.h"
#include "runtime/device/cuda/DenseLinear.h"
#include "runtime/device/cuda/JoinedTasks.h"
#include "runtime/device/cuda/StepExchanges.h"
#include "runtime/device/cuda/kernels/EmbedABI.h"
#include "runtime/device/cuda/kernels/OperandLayout.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

static_assert(int(OperandRows::F32) == int(OperandKind::F32) &&
              int(OperandRows::Bf16) == int(OperandKind::BF16) &&
              int(OperandRows::F16) == int(OperandKind::F16));
static_assert(int(NormKind::None) == int(Norm::None) &&
              int(NormKind::Rms) == int(Norm::Rms) &&
              int(NormKind::Layer) == int(Norm::Layer));
static_assert(int(ProductGate::None) == int(Gate::None) &&
              int(ProductGate::Silu) == int(Gate::Silu) &&
              int(ProductGate::GeluTanh) == int(Gate::GeluTanh));

namespace {

/// Returns the kind as it occurs in the names of kernels.
const char *nameOf(WeightKind kind) {
  constexpr const char *names[] = {"f32",  "f16",  "bf16", "e4m3",
                                   "q8_0", "q4_0", "q4_k", "q6_k"};
  return names[static_cast<int>(kind)];
}

const char *nameOf(CacheKind kind) {
  constexpr const char *names[] = {"f16", "bf16", "e4m3"};
  return names[static_cast<int>(kind)];
}

/// Returns whether the kernels for prompts compute it: there are more rows than
/// other kernels take at once.
bool takesTiles(WeightKind kind, int32_t rows, int32_t sharedBytes) {
  return rows > 64 && kind != WeightKind::F32 &&
         linearTileStages(kind, sharedBytes) >= 2;
}

/// The addresses of the parts of operand rows.
struct OperandParts {
  void *rows = nullptr;
  float *scales = nullptr; ///< null but for f16, as are the sums
  float *sums = nullptr;
};

class TaskAppender {
public:
  TaskAppender(StepGraph &graph, size_t number)
      : graph(graph), program(*graph.context.program),
        memory(graph.context.plan), number(number) {}

  /// Returns the arguments of a launch of the product alone.
  std::optional<LinearArguments> argumentsOf(const ProductTask &task);
  /// Appends products that share a launch where there are few rows, and have
  /// the tail only there.
  void appendProducts(WeightKind kind, RecordKind records,
                      std::span<LinearArguments> products, const RowTail &tail);
  void appendAttention(const AttendTask &task, const RowTail &tail);
  /// Adds what the task does to the tail of the launch before it.
  void addTo(RowTail &tail);

  void append(const RowLoopTask &task);
  void append(const ProductTask &) {} // for appendProducts()
  void append(const AppendTask &task) { appendRotated(task, {}); }
  /// Appends the kernel that stores keys and values and does these rotations,
  /// of the keys among them or of none.
  void appendRotated(const AppendTask &task,
                     std::span<const RowRotation> rotations);
  void append(const AttendTask &) {} // for appendAttention()
  void append(const ExchangeTask &task);
  void append(const CheckpointTask &task);
  void append(const BarrierTask &) { failWith("a GPU has no barriers"); }
  void append(const EmbedTask &task);
  void append(const OperandTask &task);
  void append(const ReceiveTask &task);
  void append(const SendTask &task);

private:
  template <typename... Parts> void failWith(const Parts &...parts) {
    graph.failWith("task ", number, ": ", parts...);
  }

  const PlannedBuffer &buffer(int64_t index) const {
    return program.step.buffers[size_t(index)];
  }
  /// Returns the address of a buffer, or of the part of it that begins at float
  /// `part` of a record.
  float *addressOf(int64_t index, int64_t part = 0) const {
    const PlannedBuffer &it = buffer(index);
    return graph.pointer<float>(graph.recordsAt(it.kind, it.place + part));
  }
  uint8_t *weightAddress(int64_t weight) const {
    return inArena<uint8_t>(memory.weights[size_t(weight)]);
  }
  template <typename T> T *inArena(uint64_t offset) const {
    return graph.pointer<T>(graph.context.arena + offset);
  }

  const float *vectorAddress(int64_t weight);
  const float *biasAddress(int64_t bias, int64_t columns);
  const void *argumentAddress(const KernelArgument &argument);
  OperandParts operandParts(int64_t index, int64_t features, OperandKind kind);
  bool checkColumns(const ProductTask &task, const std::string &name,
                    const WeightSpec &spec);
  void appendTiles(WeightKind kind, int32_t rows, LinearArguments &arguments);
  void appendJoined(WeightKind kind, int32_t rows,
                    std::span<const LinearArguments> products,
                    const RowTail &tail);
  void appendAttention(AttendArguments &arguments, int32_t dim);
  NormArguments argumentsOf(const RowNorm &norm, int64_t threads);

  StepGraph &graph;
  const CudaProgram &program;
  const MemoryPlan &memory;
  const size_t number; // of the task
};

} // namespace

/// Appends the tasks from number `first` on, which are products with weights of
/// one kind.
static void appendProducts(StepGraph &graph, size_t first, size_t count,
                           const RowTail &tail) {
  const CudaProgram &program = *graph.context.program;
  std::vector<LinearArguments> products;
  for (size_t number = first; number < first + count; ++number) {
    std::optional<LinearArguments> arguments =
        TaskAppender(graph, number)
            .argumentsOf(std::get<ProductTask>(program.step.tasks[number]));
    if (!arguments)
      return;
    products.push_back(*arguments);
  }
  const auto &task = std::get<ProductTask>(program.step.tasks[first]);
  const auto &weight =
      std::get<LinearWeight>(program.weights[size_t(task.weight)]);
  TaskAppender(graph, first)
      .appendProducts(weightSpec(weight)->kind, task.kind, products, tail);
}

size_t cuda::appendTasks(StepGraph &graph, size_t first) {
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
  RowTail tail = {};
  for (size_t number = first + joined; number < first + joined + tails;
       ++number)
    TaskAppender(graph, number).addTo(tail);
  if (std::holds_alternative<ProductTask>(task))
    appendProducts(graph, first, joined, tail);
  else if (const auto *loop = std::get_if<RowLoopTask>(&task);
           loop && joined == 2)
    TaskAppender(graph, first + 1)
        .appendRotated(std::get<AppendTask>(program.step.tasks[first + 1]),
                       loop->rotations);
  else if (const auto *attend = std::get_if<AttendTask>(&task))
    TaskAppender(graph, first).appendAttention(*attend, tail);
  else
    std::visit(
        [&](const auto &each) { TaskAppender(graph, first).append(each); },
        task);
  return joined + tails;
}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

/// `threads` are those of the norm's generated kernel.
NormArguments TaskAppender::argumentsOf(const RowNorm &norm, int64_t threads) {
  const int64_t features = buffer(norm.input).floats;
  NormArguments arguments = {};
  arguments.norm = static_cast<Norm>(norm.norm);
  arguments.x = addressOf(norm.input);
  arguments.epsilon = norm.epsilon;
  arguments.features = static_cast<int32_t>(features);
  arguments.threads = static_cast<int32_t>(threads);
  if (norm.norm != NormKind::None) {
    arguments.weight = biasAddress(norm.weight, features);
    arguments.bias = biasAddress(norm.bias, features);
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

void TaskAppender::addTo(RowTail &tail) {
  const StepTask &task = program.step.tasks[number];
  const auto *loop = std::get_if<RowLoopTask>(&task);
  tail.ticket = inArena<uint32_t>(memory.tailTicket);
  for (const RowNorm &norm : tailNorms(task))
    tail.norms[tail.count++] = argumentsOf(norm, loop ? loop->threads : 0);
}

//===----------------------------------------------------------------------===//
// Row loops
//===----------------------------------------------------------------------===//

/// Returns null and records an error if the weight is not a vector.
const float *TaskAppender::vectorAddress(int64_t weight) {
  if (!std::holds_alternative<VectorWeight>(program.weights[size_t(weight)])) {
    failWith("weight ", weight, " is not a vector");
    return nullptr;
  }
  return inArena<float>(memory.weights[size_t(weight)]);
}

/// Returns null if there is no bias, or records an error if it has not a number
/// for each of the weight's `columns`.
const float *TaskAppender::biasAddress(int64_t bias, int64_t columns) {
  if (bias == noOperand)
    return nullptr;
  const float *address = vectorAddress(bias);
  const auto *vector =
      std::get_if<VectorWeight>(&program.weights[size_t(bias)]);
  if (vector && vector->matrix.rows * vector->matrix.cols != columns)
    failWith("a bias of ", vector->matrix.rows * vector->matrix.cols,
             " numbers for ", columns, " columns");
  return address;
}

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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

OperandParts TaskAppender::operandParts(int64_t index, int64_t features,
                                        OperandKind kind) {
  OperandParts parts;
  if (int64_t floats = operandRowFloats(kind, features);
      buffer(index).floats != floats) {
    failWith("an operand of ", features, " features has records of ", floats,
             " floats, and buffer ", index, " of ", buffer(index).floats);
    return parts;
  }
  parts.rows = addressOf(index);
  if (kind == OperandKind::F16) {
    parts.sums = addressOf(index, operandSumsOffset(features));
    parts.scales = addressOf(index, operandScalesOffset(features));
  }
  return parts;
}

void TaskAppender::append(const OperandTask &task) {
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
void TaskAppender::appendTiles(WeightKind kind, int32_t rows,
                               LinearArguments &arguments) {
  arguments.rows.stages = linearTileStages(kind, graph.context.sharedBytes);
  graph.append(
      std::string("sluice_linear_tile_") + nameOf(kind),
      {uint32_t(divideUp(rows, linearTileRows)),
       uint32_t(divideUp(arguments.columns.tiles, linearTileColumnTiles)), 1},
      linearTileThreads,
      uint32_t(arguments.rows.stages * linearTileStageBytes(kind)), arguments);
}

void TaskAppender::appendJoined(WeightKind kind, int32_t rows,
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

void TaskAppender::appendProducts(WeightKind kind, RecordKind records,
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
bool TaskAppender::checkColumns(const ProductTask &task,
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
TaskAppender::argumentsOf(const ProductTask &task) {
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
  columns.bias = biasAddress(task.bias, spec.outFeatures);
  columns.partnerBias = biasAddress(task.partnerBias, spec.outFeatures);
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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void TaskAppender::appendRotated(const AppendTask &task,
                                 std::span<const RowRotation> rotations) {
  const CacheShape &shape = program.caches[size_t(task.cache)];
  AppendArguments arguments = {};
  arguments.k = addressOf(task.key);
  arguments.v = addressOf(task.value);
  arguments.cache = inArena<uint8_t>(memory.caches[size_t(task.cache)]);
  arguments.rows = graph.rowTable();
  arguments.mirrorCount =
      graph.pointer<int32_t>(graph.table(TableLayout::Mirrors));
  arguments.mirrorRows =
      graph.pointer<int32_t>(graph.table(graph.layout.mirrorRows));
  arguments.mirrorSequences =
      graph.pointer<int32_t>(graph.table(graph.layout.mirrorSequences));
  arguments.kvHeads = static_cast<int32_t>(shape.kvHeads);
  arguments.headDim = static_cast<int32_t>(shape.headDim);
  arguments.kind = graph.context.limits.cacheKind;
  for (const RowRotation &each : rotations) {
    Rotation &rotation =
        each.output == task.key ? arguments.keys : arguments.queries;
    rotation.x = addressOf(each.input);
    rotation.y = addressOf(each.output);
    rotation.table = inArena<float>(memory.ropes[size_t(each.ropeTable)]);
    rotation.heads = static_cast<int32_t>(each.heads);
    rotation.pairs = static_cast<int32_t>(each.rotaryDim / 2);
    rotation.isHalf = each.isHalf;
  }
  constexpr int64_t warps = appendThreads / 32;
  const int64_t heads = shape.kvHeads + arguments.queries.heads;
  graph.append(
      "sluice_append_cache",
      {static_cast<uint32_t>((graph.rows * heads + warps - 1) / warps), 1, 1},
      appendThreads, 0, arguments);
}

/// Appends the kernels of an attention over heads of `dim` numbers.
void TaskAppender::appendAttention(AttendArguments &arguments, int32_t dim) {
  const int32_t group = arguments.heads / arguments.kvHeads;
  const auto rows = static_cast<int32_t>(graph.rows);
  // Kernels for tiles compute chunks of prompts, if a step has room for one.
  arguments.skipChunks =
      group <= maxTileGroup(dim) && rows >= tileRows(dim, group);
  graph.noteTiles(arguments.skipChunks ? tileRows(dim, group) : 0);
  const std::string suffix =
      std::string(nameOf(graph.context.limits.cacheKind)) + "_" +
      std::to_string(dim);
  const auto threads = static_cast<uint32_t>(attendThreads(dim));
  const auto kvHeads = static_cast<uint32_t>(arguments.kvHeads);
  if (arguments.skipChunks)
    graph.append("sluice_attend_tile_" + suffix,
                 {static_cast<uint32_t>(divideUp(rows, tileRows(dim, group))),
                  kvHeads, 1},
                 threads, static_cast<uint32_t>(tileSharedBytes(dim)),
                 arguments);
  const AttendGrid grid =
      attendGrid({graph.rows, arguments.heads, arguments.kvHeads, dim,
                  memory.spansPerRow, arguments.skipChunks != 0},
                 graph.context.multiprocessors);
  graph.append(
      "sluice_attend_" + suffix,
      {static_cast<uint32_t>(grid.spanRows * divideUp(group, warpPairs)),
       static_cast<uint32_t>(grid.spanShares), kvHeads},
      threads, static_cast<uint32_t>(attendSharedBytes(dim)), arguments);
}

void TaskAppender::appendAttention(const AttendTask &task,
                                   const RowTail &tail) {
  const CacheShape &shape = program.caches[size_t(task.cache)];
  const PlannedAttention &attention =
      program.step.attentions[size_t(task.attention)];
  if (attention.heads > maxAttendHeads)
    return failWith("attention of ", attention.heads,
                    " heads; kernels have up to ", maxAttendHeads);
  const int32_t dim = cacheDim(static_cast<int32_t>(shape.headDim));
  // The whole context is the widest window.
  const int64_t context = graph.context.limits.contextLength;
  AttendArguments arguments = {};
  arguments.q = addressOf(task.query);
  arguments.out = addressOf(task.output);
  arguments.cache = inArena<uint8_t>(memory.caches[size_t(task.cache)]);
  arguments.rows = graph.rowTable();
  arguments.alibiSlopes = graph.slopesOf(attention);
  arguments.partials = inArena<float>(memory.spans);
  arguments.spanPlaces =
      graph.pointer<int32_t>(graph.table(graph.layout.spanPlaces));
  arguments.tickets = inArena<uint32_t>(memory.tickets);
  arguments.placeCount = memory.spanPlaces;
  arguments.heads = static_cast<int32_t>(attention.heads);
  arguments.kvHeads = static_cast<int32_t>(shape.kvHeads);
  arguments.headDim = static_cast<int32_t>(shape.headDim);
  arguments.window = static_cast<int32_t>(std::min(attention.window, context));
  arguments.scale = attention.scale;
  arguments.softcap = attention.softcap;
  arguments.tail = tail;
  appendAttention(arguments, dim);
}
