//===- LinearCases.cpp - products with operands to multiply ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Cases.h"
#include "runtime/device/cuda/kernels/Kernels.h"

#include <algorithm>
#include <random>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

std::string_view bench::kindName(WeightKind kind) {
  constexpr std::string_view names[weightKindCount] = {
      "f32", "f16", "bf16", "e4m3", "q8_0", "q4_0", "q4_k", "q6_k"};
  return names[static_cast<size_t>(kind)];
}

int32_t bench::linearKernelRows(int32_t rows) {
  for (int32_t each : {8, 16, 32, 64})
    if (rows <= each)
      return each;
  return linearTileRows;
}

namespace {

/// How many different tiles the pattern of a weight has.
constexpr int32_t patternTiles = 61;

using Random = std::mt19937_64;

template <typename T> T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T> void store(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Writes numbers of about 0.01 and either sign to `count` halves.
void smallHalves(uint8_t *to, int32_t count, Random &random) {
  for (int32_t i = 0; i < count; ++i)
    store<uint16_t>(to + 2 * i,
                    static_cast<uint16_t>((random() & 0x83ff) | 0x2000));
}

/// Fills a tile with numbers of about 1, in the layout of KernelABI.h: random
/// bits for quants, and finite scales.
void fillTile(WeightKind kind, uint8_t *tile, Random &random) {
  int32_t bytes = tileBytes(kind);
  for (int32_t i = 0; i + 8 <= bytes; i += 8)
    store<uint64_t>(tile + i, random());
  switch (kind) {
  case WeightKind::F32:
    for (int32_t i = 0; i < bytes; i += 4)
      store(tile + i, (load<uint32_t>(tile + i) & 0x807fffff) | 0x3e800000);
    break;
  case WeightKind::F16:
  case WeightKind::BF16: {
    bool isHalf = kind == WeightKind::F16;
    for (int32_t i = 0; i < bytes; i += 2) {
      auto bits = load<uint16_t>(tile + i);
      store<uint16_t>(tile + i, isHalf ? (bits & 0x83ff) | 0x3400
                                       : (bits & 0x807f) | 0x3e80);
    }
    break;
  }
  case WeightKind::E4M3:
    for (int32_t i = 0; i < 2048; ++i)
      tile[i] = (tile[i] & 0x87) | 0x30;
    for (int32_t i = 2048; i < bytes; i += 4)
      store(tile + i, 1.0F);
    break;
  case WeightKind::Q8_0:
    smallHalves(tile + 2048, 64, random);
    break;
  case WeightKind::Q4_0:
    smallHalves(tile + 1024, 64, random);
    break;
  case WeightKind::Q4_K:
    for (int32_t column = 0; column < tileColumns; ++column)
      smallHalves(tile + 1024 + 12 * column, 2, random);
    break;
  case WeightKind::Q6_K:
    smallHalves(tile + bytes - 32, 16, random);
    break;
  }
}

std::vector<uint8_t> weightPattern(WeightKind kind) {
  Random random(static_cast<uint64_t>(kind) + 1);
  std::vector<uint8_t> pattern(
      static_cast<size_t>(patternTiles * tileBytes(kind)));
  for (int32_t i = 0; i < patternTiles; ++i)
    fillTile(kind, pattern.data() + i * tileBytes(kind), random);
  return pattern;
}

std::vector<float> randomRows(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &each : values)
    each = normal(random);
  return values;
}

/// Makes the operand rows, which all products share.
void makeOperand(Lab &lab, const LinearShape &shape, int32_t capacity,
                 LinearArguments &linear) {
  auto rows = static_cast<size_t>(capacity);
  auto in = static_cast<size_t>(shape.in);
  auto padded = static_cast<size_t>(operandFeatures(shape.in));
  std::vector<float> x = randomRows(rows * in);
  OperandArguments operand = {};
  operand.kind = operandKind(shape.kind);
  DeviceAddress values = lab.upload(std::span<const float>(x));
  DeviceAddress made =
      lab.zeros(rows * padded * (operand.kind == OperandKind::F32 ? 4 : 2));
  DeviceAddress scales = lab.zeros(rows * 4);
  DeviceAddress sums = lab.zeros(padded / 32 * rows * 4);
  operand.x = reinterpret_cast<const float *>(values);
  operand.operand = reinterpret_cast<void *>(made);
  operand.scales = reinterpret_cast<float *>(scales);
  if (shape.kind == WeightKind::Q4_K)
    operand.sums = reinterpret_cast<float *>(sums);
  operand.rowCount = linear.rows.rowCount;
  operand.features = shape.in;
  GraphNode node =
      lab.node("sluice_operand_rows", {static_cast<uint32_t>(capacity)},
               operandThreads(shape.in), operandSharedBytes, operand);
  lab.run({&node, 1});
  linear.rows.x = operand.operand;
  linear.rows.rowScales = operand.scales;
  linear.rows.blockSums = operand.sums;
}

KernelNode productNode(Lab &lab, const LinearShape &shape, int32_t capacity,
                       const LinearArguments &linear) {
  std::string name(kindName(shape.kind));
  auto extent = [](int32_t x, int32_t y, int32_t z) {
    return Extent{static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                  static_cast<uint32_t>(z)};
  };
  if (shape.kernelRows == linearTileRows)
    return lab.node(
        "sluice_linear_tile_" + name,
        extent(divideUp(capacity, linearTileRows),
               divideUp(linear.columns.tiles, linearTileColumnTiles), 1),
        linearTileThreads,
        linear.rows.stages * linearTileStageBytes(shape.kind), linear);
  const JoinedLinearArguments joined = {linear.rows, {linear.columns}, 1, {}};
  return lab.node(
      "sluice_linear_" + name + "_" + std::to_string(shape.kernelRows),
      extent(linearBlocks(joined), linearParts(joined),
             divideUp(capacity, shape.kernelRows)),
      linearThreads, linearSharedBytes(shape.kind, shape.kernelRows), joined);
}

} // namespace

KernelCase bench::makeLinear(Lab &lab, const LinearShape &shape,
                             Footprint footprint, int32_t sharedBytes) {
  int32_t columns = shape.out * (shape.gated ? 2 : 1);
  int32_t capacity = divideUp(shape.rows, shape.kernelRows) * shape.kernelRows;
  LinearArguments linear = {};
  DeviceAddress count = lab.upload(std::span<const int32_t>(&shape.rows, 1));
  linear.rows.rowCount = reinterpret_cast<const int32_t *>(count);
  linear.rows.inFeatures = shape.in;
  LinearColumns &only = linear.columns;
  only.outColumns = shape.out;
  only.tiles = divideUp(columns, tileColumns);
  only.splits = linearSplits(shape.kind, shape.out, shape.in);
  only.gate = shape.gated ? Gate::Silu : Gate::None;
  if (shape.kind != WeightKind::F32)
    linear.rows.stages = linearTileStages(shape.kind, sharedBytes);
  makeOperand(lab, shape, capacity, linear);

  auto tiles = static_cast<uint64_t>(only.tiles);
  uint64_t weightBytes = tiles *
                         static_cast<uint64_t>(unitsOf(shape.kind, shape.in)) *
                         static_cast<uint64_t>(tileBytes(shape.kind));
  size_t outputFloats =
      static_cast<size_t>(capacity) * static_cast<size_t>(shape.out);
  DeviceAddress y = lab.zeros(outputFloats * 4);
  only.y = reinterpret_cast<float *>(y);
  if (shape.kernelRows != linearTileRows) {
    const int32_t blocks = divideUp(only.tiles, linearWarps);
    size_t partials = linearPartialFloats(shape.kind, blocks, only.splits,
                                          capacity, shape.kernelRows);
    DeviceAddress sums = lab.zeros(partials * 4);
    DeviceAddress tickets =
        lab.zeros(4 * static_cast<uint64_t>(
                          blocks * divideUp(capacity, shape.kernelRows)));
    linear.rows.partials = reinterpret_cast<float *>(sums);
    linear.rows.tickets = reinterpret_cast<uint32_t *>(tickets);
  }

  KernelCase made;
  made.pieces = footprint.pieces(weightBytes);
  std::vector<uint8_t> pattern = weightPattern(shape.kind);
  for (int32_t i = 0; i < made.pieces; ++i) {
    DeviceAddress weight = lab.repeat(pattern, weightBytes);
    only.weight = reinterpret_cast<const uint8_t *>(weight);
    made.nodes.push_back(productNode(lab, shape, capacity, linear));
  }
  auto rows = static_cast<uint64_t>(shape.rows);
  made.bytes = weightBytes + 4 * rows * static_cast<uint64_t>(shape.out) +
               (shape.kind == WeightKind::F32 ? 4 : 2) * rows *
                   static_cast<uint64_t>(shape.in);
  made.flops = 2.0 * shape.rows * shape.in * columns;
  return made;
}
