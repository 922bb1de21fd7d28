//===- CudaProgramABI.cpp - what emitted programs append to a graph -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaProgramABI.h"

#include "runtime/device/cuda/AttendGrid.h"
#include "runtime/device/cuda/DenseLinear.h"
#include "runtime/device/cuda/StepExchanges.h"
#include "runtime/device/cuda/kernels/EmbedABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Returns whether `index` is below `count`; records an error if not.
static bool isOne(SluiceGraph *graph, const char *what, int64_t index,
                  size_t count) {
  if (index >= 0 && static_cast<uint64_t>(index) < count)
    return true;
  graph->failWith("there is no ", what, " ", index);
  return false;
}

void *sluice_graph_value(SluiceGraph *graph, int32_t domain, int64_t offset) {
  return graph->pointer<void>(graph->valueAt(domain, offset));
}

const float *sluice_graph_vector(SluiceGraph *graph, int64_t weight) {
  const GraphContext &context = graph->context;
  const std::vector<CudaWeight> &weights = context.program->weights;
  if (!isOne(graph, "weight", weight, weights.size()))
    return nullptr;
  if (!std::holds_alternative<VectorWeight>(weights[size_t(weight)])) {
    graph->failWith("weight ", weight, " is not a vector");
    return nullptr;
  }
  return graph->pointer<float>(context.arena +
                               context.plan.weights[size_t(weight)]);
}

const float *sluice_graph_rope_table(SluiceGraph *graph, int64_t table) {
  const GraphContext &context = graph->context;
  if (!isOne(graph, "rope table", table, context.plan.ropes.size()))
    return nullptr;
  return graph->pointer<float>(context.arena +
                               context.plan.ropes[size_t(table)]);
}

const int32_t *sluice_graph_count(SluiceGraph *graph, int32_t domain) {
  return graph->count(domain);
}

const int32_t *sluice_graph_positions(SluiceGraph *graph) {
  return graph->rowTable().positions;
}

const int32_t *sluice_graph_output_rows(SluiceGraph *graph) {
  return graph->pointer<int32_t>(graph->table(graph->layout.outputRows));
}

int32_t *sluice_graph_greedy_tokens(SluiceGraph *graph) {
  graph->givesGreedyTokens = true;
  return graph->pointer<int32_t>(graph->context.arena +
                                 graph->context.plan.greedy);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Returns the kind as it occurs in the names of kernels.
static const char *nameOf(WeightKind kind) {
  constexpr const char *names[] = {"f32",  "f16",  "bf16", "e4m3",
                                   "q8_0", "q4_0", "q4_k", "q6_k"};
  return names[static_cast<int>(kind)];
}

void sluice_graph_select_outputs(SluiceGraph *graph) {
  graph->outputsNumbered = true;
  graph->checkpointsBeforeOutputs = graph->checkpoints;
}

void sluice_graph_launch(SluiceGraph *graph, const char *kernel, int32_t domain,
                         int32_t threads, int32_t blocks, const uint64_t *words,
                         int64_t count) {
  auto grid = static_cast<uint32_t>(graph->capacity(domain) * blocks);
  graph->add(kernel, {grid, 1, 1}, static_cast<uint32_t>(threads), 0,
             {words, words + count}, 1);
}

void sluice_graph_embed(SluiceGraph *graph, int64_t weight, int32_t byPosition,
                        float *out, int64_t cols) {
  const std::vector<CudaWeight> &weights = graph->context.program->weights;
  if (!isOne(graph, "weight", weight, weights.size()))
    return;
  const auto *table = std::get_if<TableWeight>(&weights[size_t(weight)]);
  if (!table || table->matrix.cols != cols ||
      (!byPosition && !graph->context.program->hasEmbedding))
    return graph->failWith("weight ", weight, " is not a table of ", cols,
                           " columns");
  if (graph->checkpoints > 0)
    return graph->failWith("rows are looked up behind a checkpoint");
  const WeightKind kind = weightSpec(tilesOf(*table))->kind;
  const TableLayout &layout = graph->layout;
  EmbedArguments arguments = {};
  arguments.table = graph->pointer<uint8_t>(
      graph->context.arena + graph->context.plan.weights[size_t(weight)]);
  arguments.index = graph->pointer<int32_t>(
      graph->table(byPosition ? layout.positions : layout.tokens));
  arguments.out = out;
  arguments.rowCount = graph->count(SLUICE_DOMAIN_ROWS);
  arguments.features = cols;
  const auto features = static_cast<int32_t>(cols);
  ++graph->lookups;
  graph->append(std::string("sluice_embed_") + nameOf(kind),
                {static_cast<uint32_t>(graph->rows),
                 static_cast<uint32_t>(divideUp(features, embedFeatures(kind))),
                 1},
                embedThreads, 0, arguments);
}

void sluice_graph_receive(SluiceGraph *graph, float *out, int64_t cols) {
  const CudaProgram &program = *graph->context.program;
  if (program.hasEmbedding || cols != program.hiddenSize)
    return graph->failWith("takes rows of ", cols, " numbers in");
  if (graph->kernelCount > graph->lookups)
    return graph->failWith("rows come in behind other work");
  graph->received = reinterpret_cast<DeviceAddress>(out);
  if (program.members > 1)
    addBroadcast(graph, out, cols);
}

void sluice_graph_send(SluiceGraph *graph, const float *h, int64_t cols) {
  const CudaProgram &program = *graph->context.program;
  if (program.hasOutput || cols != program.hiddenSize)
    return graph->failWith("sends rows of ", cols, " numbers");
  graph->sent = reinterpret_cast<DeviceAddress>(h);
}

void sluice_graph_all_reduce(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t cols) {
  addAllReduce(graph, {domain, x, y, scratch}, cols);
}

void sluice_graph_all_gather(SluiceGraph *graph, int32_t domain, const float *x,
                             float *y, float *scratch, int64_t partCols,
                             int64_t cols) {
  addAllGather(graph, {domain, x, y, scratch}, partCols, cols);
}

void sluice_graph_checkpoint(SluiceGraph *graph, void *const *values,
                             const int64_t *floats, int64_t count) {
  graph->addCheckpoint({values, static_cast<size_t>(count)},
                       {floats, static_cast<size_t>(count)});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// The addresses of the parts of operand rows.
struct OperandParts {
  OperandParts(SluiceGraph *graph, int32_t domain, const void *operand,
               int64_t cols, OperandKind kind) {
    int64_t room = graph->padded(domain);
    auto *base = const_cast<float *>(static_cast<const float *>(operand));
    rows = base;
    if (kind != OperandKind::F16)
      return;
    sums = base + room * SLUICE_OPERAND_SUMS(cols);
    scales = base + room * SLUICE_OPERAND_SCALES(cols);
  }
  void *rows = nullptr;
  float *scales = nullptr;
  float *sums = nullptr;
};

/// Returns whether the kernels for prompts compute it: there are more rows than
/// other kernels take at once.
bool takesTiles(WeightKind kind, int32_t rows, int32_t sharedBytes) {
  return rows > 64 && kind != WeightKind::F32 &&
         linearTileStages(kind, sharedBytes) >= 2;
}

/// Launches the kernel for graphs of `rows` rows.
void addLinear(SluiceGraph *graph, WeightKind kind, int32_t rows,
               LinearArguments &arguments) {
  const int32_t sharedBytes = graph->context.sharedBytes;
  if (isDense(graph->context.limits, kind, rows))
    return addDenseLinear(graph, kind, nameOf(kind), rows, arguments);
  if (takesTiles(kind, rows, sharedBytes)) {
    arguments.stages = linearTileStages(kind, sharedBytes);
    graph->append(
        std::string("sluice_linear_tile_") + nameOf(kind),
        {uint32_t(divideUp(rows, linearTileRows)),
         uint32_t(divideUp(arguments.tiles, linearTileColumnTiles)), 1},
        linearTileThreads,
        uint32_t(arguments.stages * linearTileStageBytes(kind)), arguments);
    return;
  }
  const int32_t each = linearRows(rows);
  graph->append(
      std::string("sluice_linear_") + nameOf(kind) + "_" + std::to_string(each),
      {uint32_t(divideUp(arguments.tiles, linearWarps)),
       uint32_t(arguments.splits), uint32_t(divideUp(rows, each))},
      linearThreads, uint32_t(linearSharedBytes(kind, each)), arguments);
}

} // namespace

void sluice_graph_operand(SluiceGraph *graph, int32_t domain, const float *x,
                          void *operand, int64_t cols, int32_t kind) {
  OperandArguments arguments = {};
  arguments.kind = static_cast<OperandKind>(kind);
  OperandParts parts(graph, domain, operand, cols, arguments.kind);
  arguments.x = x;
  arguments.operand = parts.rows;
  arguments.scales = parts.scales;
  arguments.sums = parts.sums;
  arguments.rowCount = graph->count(domain);
  arguments.features = static_cast<int32_t>(cols);
  graph->append("sluice_operand_rows",
                {static_cast<uint32_t>(graph->capacity(domain)), 1, 1},
                uint32_t(operandThreads(arguments.features)),
                operandSharedBytes, arguments);
}

void sluice_graph_linear(SluiceGraph *graph, int32_t domain, int64_t weight,
                         const void *operand, const float *bias,
                         const float *partnerBias, const float *residual,
                         float *y, int32_t gate, int64_t colBegin,
                         int64_t colEnd) {
  const LinearWeight *linear = graph->linearWeight(weight);
  if (!linear)
    return;
  const WeightSpec spec = *weightSpec(*linear);
  const bool isWhole = colBegin == 0 && colEnd == spec.outFeatures;
  if (colBegin < 0 || colBegin >= colEnd || colEnd > spec.outFeatures ||
      colBegin % tileColumns != 0 ||
      (colEnd % tileColumns != 0 && colEnd != spec.outFeatures) ||
      (gate != SLUICE_GATE_NONE) != spec.gated || (spec.gated && !isWhole))
    return graph->failWith("weight '", linear->name, "': columns ", colBegin,
                           " to ", colEnd, " of ", spec.outFeatures,
                           " cannot be computed by themselves");
  const auto in = static_cast<int32_t>(spec.inFeatures);
  OperandParts parts(graph, domain, operand, in, operandKind(spec.kind));
  const GraphContext &context = graph->context;
  LinearArguments arguments = {};
  arguments.weight = graph->pointer<uint8_t>(
      context.arena + context.plan.weights[size_t(weight)]);
  arguments.x = parts.rows;
  arguments.rowScales = parts.scales;
  arguments.blockSums = parts.sums;
  arguments.bias = bias;
  arguments.partnerBias = partnerBias;
  arguments.residual = residual;
  arguments.y = y;
  arguments.partials =
      graph->pointer<float>(context.arena + context.plan.partials);
  arguments.tickets =
      graph->pointer<uint32_t>(context.arena + context.plan.tickets);
  arguments.rowCount = graph->count(domain);
  arguments.inFeatures = in;
  arguments.outColumns = static_cast<int32_t>(colEnd - colBegin);
  arguments.firstTile = static_cast<int32_t>(colBegin / tileColumns);
  arguments.tiles = spec.gated ? static_cast<int32_t>(columnTiles(spec))
                               : divideUp(arguments.outColumns, tileColumns);
  arguments.splits =
      linearSplits(spec.kind, static_cast<int32_t>(spec.outFeatures), in);
  arguments.gate = static_cast<Gate>(gate);
  addLinear(graph, spec.kind, static_cast<int32_t>(graph->capacity(domain)),
            arguments);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

const char *nameOf(CacheKind kind) {
  constexpr const char *names[] = {"f16", "bf16", "e4m3"};
  return names[static_cast<int>(kind)];
}

uint8_t *cacheOf(SluiceGraph *graph, int64_t layer) {
  return graph->pointer<uint8_t>(graph->context.arena +
                                 graph->context.plan.caches[size_t(layer)]);
}

} // namespace

void sluice_graph_append(SluiceGraph *graph, int64_t cacheLayer, const float *k,
                         const float *v) {
  const std::vector<device::CacheShape> &caches =
      graph->context.program->caches;
  if (!isOne(graph, "cache", cacheLayer, caches.size()))
    return;
  const device::CacheShape &shape = caches[size_t(cacheLayer)];
  AppendArguments arguments = {};
  arguments.k = k;
  arguments.v = v;
  arguments.cache = cacheOf(graph, cacheLayer);
  arguments.rows = graph->rowTable();
  arguments.mirrorCount =
      graph->pointer<int32_t>(graph->table(TableLayout::Mirrors));
  arguments.mirrorRows =
      graph->pointer<int32_t>(graph->table(graph->layout.mirrorRows));
  arguments.mirrorSequences =
      graph->pointer<int32_t>(graph->table(graph->layout.mirrorSequences));
  arguments.kvHeads = static_cast<int32_t>(shape.kvHeads);
  arguments.headDim = static_cast<int32_t>(shape.headDim);
  arguments.kind = graph->context.limits.cacheKind;
  constexpr int64_t warps = appendThreads / 32;
  graph->append(
      "sluice_append_cache",
      {static_cast<uint32_t>((graph->rows * shape.kvHeads + warps - 1) / warps),
       1, 1},
      appendThreads, 0, arguments);
}

void sluice_graph_attend(SluiceGraph *graph, int64_t cacheLayer, const float *q,
                         float *out, const SluiceAttention *params) {
  const std::vector<device::CacheShape> &caches =
      graph->context.program->caches;
  if (!isOne(graph, "cache", cacheLayer, caches.size()))
    return;
  const device::CacheShape &shape = caches[size_t(cacheLayer)];
  if (params->kvHeads != shape.kvHeads || params->headDim != shape.headDim ||
      params->heads < 1 || params->heads > maxAttendHeads ||
      params->heads % params->kvHeads != 0)
    return graph->failWith("attention of ", params->heads, " heads of ",
                           params->headDim, " over a cache of ", shape.kvHeads,
                           " heads of ", shape.headDim);
  const int32_t dim = cacheDim(static_cast<int32_t>(shape.headDim));
  const auto group = static_cast<int32_t>(params->heads / params->kvHeads);
  const auto rows = static_cast<int32_t>(graph->rows);
  graph->spanFloats =
      std::max<int64_t>(graph->spanFloats, params->heads * spanFloats(dim));
  AttendArguments arguments = {};
  arguments.q = q;
  arguments.out = out;
  arguments.cache = cacheOf(graph, cacheLayer);
  arguments.rows = graph->rowTable();
  arguments.alibiSlopes = graph->slopesOf(*params);
  arguments.partials =
      graph->pointer<float>(graph->context.arena + graph->context.plan.spans);
  arguments.spanPlaces =
      graph->pointer<int32_t>(graph->table(graph->layout.spanPlaces));
  arguments.placeCount = graph->context.plan.spanPlaces;
  arguments.heads = static_cast<int32_t>(params->heads);
  arguments.kvHeads = static_cast<int32_t>(params->kvHeads);
  arguments.headDim = static_cast<int32_t>(params->headDim);
  arguments.window = static_cast<int32_t>(
      std::min<int64_t>(params->window, graph->context.limits.contextLength));
  arguments.scale = params->scale;
  arguments.softcap = params->softcap;
  // Kernels for tiles compute chunks of prompts, if a step has room for one.
  arguments.skipChunks =
      group <= maxTileGroup(dim) && rows >= tileRows(dim, group);
  graph->noteTiles(arguments.skipChunks ? tileRows(dim, group) : 0);
  const std::string suffix =
      std::string(nameOf(graph->context.limits.cacheKind)) + "_" +
      std::to_string(dim);
  const auto threads = static_cast<uint32_t>(attendThreads(dim));
  const auto kvHeads = static_cast<uint32_t>(params->kvHeads);
  if (arguments.skipChunks)
    graph->append("sluice_attend_tile_" + suffix,
                  {static_cast<uint32_t>(divideUp(rows, tileRows(dim, group))),
                   kvHeads, 1},
                  threads, static_cast<uint32_t>(tileSharedBytes(dim)),
                  arguments);
  const AttendGrid grid =
      attendGrid({graph->rows, params->heads, params->kvHeads, dim,
                  graph->context.plan.spansPerRow, arguments.skipChunks != 0},
                 graph->context.multiprocessors);
  graph->append(
      "sluice_attend_" + suffix,
      {static_cast<uint32_t>(grid.spanRows * divideUp(group, warpPairs)),
       static_cast<uint32_t>(grid.spanShares), kvHeads},
      threads, static_cast<uint32_t>(attendSharedBytes(dim)), arguments);
  graph->append("sluice_attend_combine",
                {static_cast<uint32_t>(grid.combineRows),
                 static_cast<uint32_t>(params->heads), 1},
                static_cast<uint32_t>(combineThreads(dim)),
                static_cast<uint32_t>(combineSharedBytes(dim)), arguments);
}
