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

JoinedLinearArguments joinedOf(std::span<const LinearArguments> products) {
  JoinedLinearArguments joined = {};
  joined.rows = products.front().rows;
  for (const LinearArguments &each : products)
    joined.columns[joined.weights++] = each.columns;
  return joined;
}

/// Runs the kernel for few rows, which computes all weights.
void launchFew(const LinearRun &run, std::span<const LinearArguments> products,
               emulator::LaunchOptions options, LateInputs &late,
               Operand &operand) {
  const WeightKind kind = run.weight->spec.kind;
  JoinedLinearArguments joined = joinedOf(products);
  options.grid = {uint32_t(linearBlocks(joined)), uint32_t(linearParts(joined)),
                  uint32_t(divideUp(run.capacity, run.kernelRows))};
  options.threads = linearThreads;
  options.sharedBytes = size_t(linearSharedBytes(kind, run.kernelRows));
  DeviceArray<float> partials(
      linearPartialFloats(kind, linearBlocks(joined), linearParts(joined),
                          run.capacity, run.kernelRows));
  DeviceArray<uint32_t> tickets(
      std::vector<uint32_t>(options.grid.x * options.grid.z));
  joined.rows.partials = partials.data();
  joined.rows.tickets = tickets.data();
  late.hide(partials);
  late.hide(tickets);
  DeviceArray<uint32_t> tailTicket(std::vector<uint32_t>{0});
  joined.tail = run.tail;
  if (joined.tail.count > 0) {
    joined.tail.ticket = tailTicket.data();
    late.hide(tailTicket);
  }
  for (NormArguments &norm : std::span(joined.tail.norms))
    if (!norm.x)
      norm.x = joined.columns[0].y;
  if (run.overOperand)
    joined.tail.norms[0].operand = operand.rows.data();
  late.expectLaunch(options, kernelOf(kind, run.kernelRows), joined);
  for (size_t i = 0; i < tickets.size(); ++i)
    EXPECT_EQ(tickets[i], 0u);
  EXPECT_EQ(tailTicket[0], 0u);
}

/// Runs the kernel for prompts, which computes one weight.
void launchTiles(const LinearRun &run, const LinearArguments &product,
                 emulator::LaunchOptions options, LateInputs &late) {
  const WeightKind kind = run.weight->spec.kind;
  options.grid = {
      uint32_t(divideUp(run.capacity, linearTileRows)),
      uint32_t(divideUp(product.columns.tiles, linearTileColumnTiles)), 1};
  options.threads = linearTileThreads;
  options.sharedBytes = size_t(run.stages * linearTileStageBytes(kind));
  late.expectLaunch(options, kernelOf(kind, run.kernelRows), product);
}

void runKernel(const LinearRun &run, std::span<const LinearArguments> products,
               Operand &operand, DeviceArray<int32_t> &count,
               std::span<DeviceArray<float>> results) {
  emulator::LaunchOptions options;
  options.order = run.order;
  options.seed = run.seed;
  options.copiedBytes = run.copiedBytes;
  // In shuffled order, several blocks take turns.
  options.resident = run.order == emulator::Order::Shuffled ? 5 : 1;
  LateInputs late;
  late.hide(operand.rows);
  late.hide(operand.scales);
  late.hide(operand.sums);
  late.hide(count);
  for (DeviceArray<float> &y : results)
    late.hide(y);
  if (run.kernelRows == linearTileRows)
    launchTiles(run, products.front(), options, late);
  else
    launchFew(run, products, options, late, operand);
  if (run.overOperand)
    *run.overOperand = operand.rows.values();
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

/// Everything of `run` but its rows, and the addresses of biases and results.
LinearColumns columnsOf(const LinearRun &run) {
  const WeightSpec &spec = run.weight->spec;
  const int32_t each = spec.gated ? 8 : 16;
  LinearColumns columns = {};
  columns.weight = run.weight->tiles.data();
  columns.tiles = run.tiles == 0 ? int32_t(columnTiles(spec)) : run.tiles;
  columns.firstTile = run.firstTile;
  columns.outColumns = std::min(
      columns.tiles * each, int32_t(spec.outFeatures) - run.firstTile * each);
  columns.splits = run.splits > 0
                       ? run.splits
                       : linearSplits(spec.kind, int32_t(spec.outFeatures),
                                      int32_t(spec.inFeatures));
  columns.gate = run.gate;
  return columns;
}

/// The memory of a product beside its weight and its operand.
struct ProductMemory {
  DeviceArray<float> biases;
  std::vector<float> before; ///< of the results
};

} // namespace

std::vector<float> LinearRun::run(const std::vector<float> &x) const {
  return runJoined({this, 1}, x).front();
}

std::vector<std::vector<float>> cuda::runJoined(std::span<const LinearRun> runs,
                                                const std::vector<float> &x) {
  const LinearRun &first = runs.front();
  DeviceArray<int32_t> count(std::vector<int32_t>{first.rows});
  Operand operand = makeOperand(first, x, count);
  LinearRows rows = {};
  rows.x = operand.rows.data();
  rows.rowScales = operand.scales.data();
  rows.blockSums = operand.sums.data();
  rows.rowCount = count.data();
  rows.inFeatures = int32_t(first.weight->spec.inFeatures);
  rows.stages = first.stages;

  std::vector<LinearArguments> products;
  std::vector<ProductMemory> memory;
  std::vector<DeviceArray<float>> results;
  for (const LinearRun &run : runs) {
    LinearColumns columns = columnsOf(run);
    ProductMemory &own = memory.emplace_back();
    if (!run.bias.empty()) {
      own.biases = DeviceArray<float>(run.bias);
      columns.bias = own.biases.data();
      if (run.weight->spec.gated)
        columns.partnerBias = own.biases.data() + run.weight->spec.outFeatures;
    }
    // y holds the residual as well, if there is one.
    DeviceArray<float> &y = results.emplace_back(size_t(first.capacity) *
                                                 size_t(columns.outColumns));
    own.before = y.values();
    std::copy(run.residual.begin(), run.residual.end(), y.data());
    columns.y = y.data();
    columns.residual = run.residual.empty() ? nullptr : y.data();
    products.push_back({rows, columns});
  }

  if (first.denseBytes > 0)
    runDense(first, products.front());
  else
    runKernel(first, products, operand, count, results);

  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto used =
        size_t(first.rows) * size_t(products[i].columns.outColumns);
    std::vector<float> &all = values.emplace_back(results[i].values());
    if (first.denseBytes == 0)
      EXPECT_TRUE(sameBits<float>(std::span(all).subspan(used),
                                  std::span(memory[i].before).subspan(used)))
          << "rows beyond the count were written";
    all.resize(used);
  }
  return values;
}
