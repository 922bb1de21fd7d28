//===- WeightMaker.cpp - makes random weights on the device ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/weights/WeightMaker.h"

#include "runtime/device/cuda/NodeSequence.h"
#include "runtime/device/cuda/kernels/RandomABI.h"

namespace sluice::cuda {

namespace {

/// The weights of one graph. They are few, so that the graph fits into the
/// memory that is kept free for the graphs of steps, and that the caller is
/// asked in between whether to continue.
constexpr size_t maxNodes = 16;

bool canMake(const StoredMatrix &matrix) {
  if (!matrix.slice.isWhole() || matrix.scales || !weightKind(matrix.format))
    return false;
  return matrix.stored == matrix.format ||
         (matrix.format == Format::E4M3 && !isQuantized(matrix.stored));
}

std::string kernelFor(const StoredMatrix &matrix) {
  std::string name = "sluice_random_";
  if (matrix.stored != matrix.format)
    name += std::string(formatInfo(matrix.format).name) + "_of_";
  return name + std::string(formatInfo(matrix.stored).name);
}

RandomSource sourceOf(const StoredMatrix &matrix) {
  const RandomRows &rows = *matrix.random;
  const RandomUnits units = randomUnits(matrix.stored, rows.spread);
  RandomSource source = {};
  source.key = rows.key;
  source.mean = rows.spread.mean;
  source.unit = units.unit;
  source.d = units.d;
  source.dmin = units.dmin;
  return source;
}

} // namespace

bool canMakeOnDevice(const CudaWeight &weight) {
  if (const auto *table = std::get_if<TableWeight>(&weight))
    return canMake(tilesOf(*table).matrix);
  const auto *linear = std::get_if<LinearWeight>(&weight);
  return linear && !linear->transposed && canMake(linear->matrix) &&
         (!linear->partner || canMake(*linear->partner));
}

Status WeightMaker::linear(const LinearWeight &weight, DeviceAddress to) {
  Expected<WeightSpec> spec = weightSpec(weight);
  if (!spec)
    return spec.status();
  RandomArguments arguments = {};
  arguments.tiles = reinterpret_cast<uint8_t *>(to);
  arguments.source = sourceOf(weight.matrix);
  if (weight.partner)
    arguments.partner = sourceOf(*weight.partner);
  arguments.outFeatures = static_cast<int32_t>(spec->outFeatures);
  arguments.inFeatures = static_cast<int32_t>(spec->inFeatures);
  arguments.isGated = spec->gated;
  // There are fewer than 2^31 blocks, since each writes more than 4 KiB of a
  // device's memory.
  const auto blocks = static_cast<uint32_t>(
      randomBlocks(spec->kind, columnTiles(*spec), arguments.inFeatures));
  const std::string name = kernelFor(weight.matrix);
  Expected<Function> function = kernels.find(name, randomSharedBytes);
  if (!function)
    return function.status();
  std::vector<uint64_t> words = argumentWords(arguments);
  const auto size = static_cast<uint32_t>(words.size());
  if (nodes.empty())
    first = weight.name;
  nodes.push_back(KernelNode{*function,
                             {blocks, 1, 1},
                             randomThreads,
                             randomSharedBytes,
                             std::move(words),
                             size,
                             name});
  bytes += *layoutBytes(*spec);
  return nodes.size() < maxNodes ? Status() : finish();
}

Status WeightMaker::finish() {
  if (nodes.empty())
    return {};
  Expected<NodeSequence> sequence =
      NodeSequence::make(device, kernels, std::exchange(nodes, {}));
  Status status = sequence.status();
  if (status.ok())
    status = sequence->launch(stream);
  if (status.ok())
    status = device.settle(stream, "the making of weights");
  if (!status.ok()) {
    const std::string where = sequence ? sequence->whereItStands() : "";
    return status.withContext("random weights from '" + first + "' on" +
                              (where.empty() ? "" : ", at " + where));
  }
  const uint64_t made = std::exchange(bytes, 0);
  return progress ? progress(made) : Status();
}

} // namespace sluice::cuda
