//===- LinearRun.cpp - runs one linear layer in the emulator --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/LinearRun.h"
#include "runtime/device/cuda/DenseLinear.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

std::string kernelOf(WeightKind kind, int32_t rows) {
  const std::string name = kindName(kind);
  return rows == linearTileRows
             ? "sluice_linear_tile_" + name
             : "sluice_linear_" + name + "_" + std::to_string(rows);
}

/// Operand rows in device memory.
struct Operand {
  DeviceArray<uint8_t> rows;
  DeviceArray<float> scales, sums;
};

Operand makeOperand(const LinearRun &run, const std::vector<float> &x,
                    DeviceArray<int32_t> &count) {
  auto in = int32_t(run.weight->spec.inFeatures);
  WeightKind kind = run.weight->spec.kind;
  auto padded = size_t(operandFeatures(in)), capacity = size_t(run.capacity);
  // Room for the capacity; the values of rows beyond the count stay NaNs.
  DeviceArray<float> values(capacity * size_t(in));
  std::copy(x.begin(), x.end(), values.data());
  constexpr Elements elements[] = {Elements::Float, Elements::Bfloat,
                                   Elements::Half};
  Operand operand = {DeviceArray<uint8_t>(capacity * padded *
                                          (kind == WeightKind::F32 ? 4 : 2))
                         .holding(elements[int(operandKind(kind))]),
                     DeviceArray<float>(capacity),
                     DeviceArray<float>(padded / 32 * capacity)};
  OperandArguments arguments = {};
  arguments.x = values.data();
  arguments.operand = operand.rows.data();
  arguments.scales = operand.scales.data();
  arguments.sums = kind == WeightKind::Q4_K ? operand.sums.data() : nullptr;
  arguments.rowCount = count.data();
  arguments.features = in;
  arguments.kind = operandKind(kind);
  emulator::LaunchOptions options;
  options.grid.x = uint32_t(run.capacity);
  options.threads = uint32_t(operandThreads(in));
  options.sharedBytes = operandSharedBytes;
  options.order = run.order;
  LateInputs late;
  late.hide(values);
  late.hide(operand.rows);
  late.hide(operand.scales);
  late.hide(operand.sums);
  late.hide(count);
  late.expectLaunch(options, "sluice_operand_rows", arguments);
  return operand;
}

/// Returns grid, block and shared memory as KernelABI.h defines them.
emulator::LaunchOptions shapeOf(const LinearRun &run,
                                const LinearArguments &arguments) {
  WeightKind kind = run.weight->spec.kind;
  emulator::LaunchOptions options;
  if (run.kernelRows == linearTileRows) {
    options.grid = {uint32_t(divideUp(run.capacity, linearTileRows)),
                    uint32_t(divideUp(arguments.tiles, linearTileColumnTiles)),
                    1};
    options.threads = linearTileThreads;
    options.sharedBytes = size_t(run.stages * linearTileStageBytes(kind));
    return options;
  }
  options.grid = {uint32_t(divideUp(arguments.tiles, linearWarps)),
                  uint32_t(arguments.splits),
                  uint32_t(divideUp(run.capacity, run.kernelRows))};
  options.threads = linearThreads;
  options.sharedBytes = size_t(linearSharedBytes(kind, run.kernelRows));
  return options;
}

void runKernel(const LinearRun &run, LinearArguments &arguments,
               Operand &operand, DeviceArray<int32_t> &count,
               DeviceArray<float> &y) {
  emulator::LaunchOptions options = shapeOf(run, arguments);
  options.order = run.order;
  options.seed = run.seed;
  options.copiedBytes = run.copiedBytes;
  // In shuffled order, several blocks take turns.
  options.resident = run.order == emulator::Order::Shuffled ? 5 : 1;
  DeviceArray<float> partials(
      linearPartialFloats(run.weight->spec.kind, arguments.tiles, run.capacity,
                          run.kernelRows, arguments.splits));
  DeviceArray<uint32_t> tickets(
      std::vector<uint32_t>(options.grid.x * options.grid.z));
  arguments.partials = partials.data();
  arguments.tickets = tickets.data();
  LateInputs late;
  late.hide(operand.rows);
  late.hide(operand.scales);
  late.hide(operand.sums);
  late.hide(count);
  late.hide(y);
  late.hide(partials);
  late.hide(tickets);
  late.expectLaunch(options, kernelOf(run.weight->spec.kind, run.kernelRows),
                    arguments);
  for (size_t i = 0; i < tickets.size(); ++i)
    EXPECT_EQ(tickets[i], 0u);
}

void runDense(const LinearRun &run, const LinearArguments &arguments) {
  DeviceArray<uint8_t> columns(run.denseBytes);
  DeviceArray<float> sums(run.denseBytes);
  GraphContext context;
  context.plan.dense = reinterpret_cast<DeviceAddress>(columns.data());
  context.plan.sums = reinterpret_cast<DeviceAddress>(sums.data());
  context.plan.denseRoom = {columns.bytes(), sums.bytes(), 0};
  emulator::EmulatedOptions options;
  options.checksAddresses = false;
  std::shared_ptr<Device> device =
      emulator::openEmulated(options).take()->open(0).take();
  auto kernels = KernelLibrary::load(*device, {}).take();
  context.kernels = kernels.get();
  CudaProgram program;
  context.program = &program;
  context.limits.rows = run.capacity;
  context.limits.contextLength = 1;
  StepGraph graph(context, run.capacity);
  addDenseLinear(&graph, run.weight->spec.kind, kindName(run.weight->spec.kind),
                 run.capacity, arguments);
  Graph made = device->makeGraph(graph.nodes).take();
  Stream stream = device->makeStream().take();
  EXPECT_TRUE(device->launch(made, stream).ok());
  Status s = device->synchronize(stream);
  EXPECT_TRUE(s.ok()) << s.message();
  device->destroy(made);
  device->destroy(stream);
}

} // namespace

std::vector<float> LinearRun::run(const std::vector<float> &x) const {
  const WeightSpec &spec = weight->spec;
  const auto allTiles = int32_t(columnTiles(spec));
  const auto in = int32_t(spec.inFeatures);
  DeviceArray<int32_t> count(std::vector<int32_t>{rows});
  Operand operand = makeOperand(*this, x, count);

  LinearArguments arguments = {};
  arguments.tiles = tiles == 0 ? allTiles : tiles;
  arguments.firstTile = firstTile;
  int32_t columns = spec.gated ? 8 : 16;
  arguments.outColumns =
      std::min(arguments.tiles * columns,
               int32_t(spec.outFeatures) - firstTile * columns);
  arguments.splits = linearSplits(spec.kind, int32_t(spec.outFeatures), in);
  arguments.weight = weight->tiles.data();
  arguments.x = operand.rows.data();
  arguments.rowScales = operand.scales.data();
  arguments.blockSums = operand.sums.data();
  DeviceArray<float> biases(bias);
  if (!bias.empty()) {
    arguments.bias = biases.data();
    arguments.partnerBias =
        spec.gated ? biases.data() + spec.outFeatures : nullptr;
  }
  arguments.rowCount = count.data();
  arguments.inFeatures = in;
  arguments.stages = stages;
  arguments.gate = gate;

  // y holds the residual as well, if there is one.
  DeviceArray<float> y(size_t(capacity) * size_t(arguments.outColumns));
  const std::vector<float> before = y.values();
  std::copy(residual.begin(), residual.end(), y.data());
  arguments.y = y.data();
  arguments.residual = residual.empty() ? nullptr : y.data();

  if (denseBytes > 0)
    runDense(*this, arguments);
  else
    runKernel(*this, arguments, operand, count, y);

  auto used = size_t(rows) * size_t(arguments.outColumns);
  if (denseBytes == 0)
    EXPECT_TRUE(sameBits<float>(std::span(y.data(), y.size()).subspan(used),
                                std::span(before).subspan(used)))
        << "rows beyond the count were written";
  std::vector<float> result = y.values();
  result.resize(used);
  return result;
}
