//===- DenseLinear.cpp - linear layers by cuBLASLt ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/DenseLinear.h"

#include "runtime/device/cuda/kernels/DenseABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

namespace sluice::cuda {

namespace {

/// The size of the columns that are unpacked at a time. A large L2 cache may
/// keep them until they are multiplied, and there are enough columns to occupy
/// a large chip.
constexpr uint64_t maxWeightBytes = uint64_t{64} << 20;

/// The workspace that NVIDIA recommends for chips from Hopper on (cuBLAS,
/// "Workspace").
constexpr uint64_t workspaceBytes = uint64_t{32} << 20;

DeviceAddress addressOf(const void *memory) {
  return reinterpret_cast<DeviceAddress>(memory);
}

/// Returns whether the library's sums, plus a residual, are the final results.
bool isFinished(WeightKind kind, const LinearArguments &arguments) {
  return operandKind(kind) == OperandKind::BF16 && !arguments.columns.bias &&
         arguments.columns.gate == Gate::None;
}

/// A part of the tiles of the arguments.
struct Piece {
  int32_t firstTile;
  int32_t tiles;
};

void unpack(StepGraph *graph, WeightKind kind, const char *name,
            const LinearArguments &arguments, const Piece &piece) {
  DenseWeightArguments dense = {};
  dense.weight = arguments.columns.weight;
  dense.dense = graph->pointer<uint16_t>(graph->context.arena +
                                         graph->context.plan.dense);
  dense.rowCount = arguments.rows.rowCount;
  dense.inFeatures = arguments.rows.inFeatures;
  dense.firstTile = piece.firstTile;
  graph->append(
      std::string("sluice_dense_weight_") + name,
      {uint32_t(divideUp(unitsOf(kind, arguments.rows.inFeatures), denseWarps)),
       uint32_t(piece.tiles), 1},
      denseThreads, uint32_t(denseSharedBytes), dense);
}

ProductNode productOf(const StepGraph *graph, WeightKind kind, int32_t rows,
                      const LinearArguments &arguments) {
  const MemoryPlan &plan = graph->context.plan;
  ProductNode product;
  product.weight = graph->context.arena + plan.dense;
  product.rows = addressOf(arguments.rows.x);
  product.rowCount = rows;
  product.features = operandFeatures(arguments.rows.inFeatures);
  product.isBfloat = operandKind(kind) == OperandKind::BF16;
  product.workspace = graph->context.arena + plan.workspace;
  product.workspaceBytes = plan.denseRoom.workspaceBytes;
  return product;
}

} // namespace

bool isDense(const CudaExecutorOptions &limits, WeightKind kind, int64_t rows) {
  return limits.fastMathBatch && hasDense(kind) && rows >= denseMinRows;
}

DenseRoom denseRoom(const CudaProgram &program,
                    const CudaExecutorOptions &limits) {
  DenseRoom room;
  for (const CudaWeight &weight : program.weights) {
    const auto *linear = std::get_if<LinearWeight>(&weight);
    if (!linear || linear->isPartner)
      continue;
    WeightSpec spec = *weightSpec(*linear);
    if (!isDense(limits, spec.kind, limits.rows))
      continue;
    const auto in = static_cast<int32_t>(spec.inFeatures);
    const uint64_t tiles =
        std::clamp<uint64_t>(maxWeightBytes / uint64_t(denseTileBytes(in)), 1,
                             uint64_t(columnTiles(spec)));
    room.weightBytes =
        std::max(room.weightBytes, tiles * uint64_t(denseTileBytes(in)));
    room.sumBytes =
        std::max(room.sumBytes,
                 tiles * tileColumns * uint64_t(limits.rows) * sizeof(float));
    room.workspaceBytes = workspaceBytes;
  }
  return room;
}

void addDenseLinear(StepGraph *graph, WeightKind kind, const char *name,
                    int32_t rows, const LinearArguments &arguments) {
  // More columns of a narrower weight fit, but there may be no room for their
  // sums.
  const DenseRoom &room = graph->context.plan.denseRoom;
  const uint64_t sumsOfTile = tileColumns * uint64_t(rows) * sizeof(float);
  const auto max = static_cast<int32_t>(std::min(
      room.weightBytes / uint64_t(denseTileBytes(arguments.rows.inFeatures)),
      room.sumBytes / sumsOfTile));
  const LinearColumns &columns = arguments.columns;
  const int32_t end = columns.firstTile + columns.tiles;
  for (int32_t first = columns.firstTile; first < end; first += max) {
    const Piece piece = {first, std::min(max, end - first)};
    unpack(graph, kind, name, arguments, piece);
    ProductNode product = productOf(graph, kind, rows, arguments);
    product.columns = int64_t{piece.tiles} * tileColumns;
    if (isFinished(kind, arguments)) {
      const int64_t done = int64_t{first - columns.firstTile} * tileColumns;
      product.columns = std::min(product.columns, columns.outColumns - done);
      product.result = addressOf(columns.y + done);
      product.addend = columns.residual ? addressOf(columns.residual + done)
                                        : DeviceAddress{0};
      product.resultStride = columns.outColumns;
      graph->addProduct(product);
      continue;
    }
    DenseResultArguments results = {};
    results.linear = arguments;
    results.sums =
        graph->pointer<float>(graph->context.arena + graph->context.plan.sums);
    results.firstTile = piece.firstTile;
    results.tiles = piece.tiles;
    product.result = addressOf(results.sums);
    product.resultStride = product.columns;
    graph->addProduct(product);
    graph->append(operandKind(kind) == OperandKind::BF16
                      ? "sluice_dense_results_bf16"
                      : "sluice_dense_results_f16",
                  {uint32_t(divideUp(piece.tiles, linearWarps)),
                   uint32_t(divideUp(rows, 8)), 1},
                  linearThreads, 0, results);
  }
}

} // namespace sluice::cuda
