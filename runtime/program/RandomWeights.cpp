//===- RandomWeights.cpp - weights made from a seed -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/RandomWeights.h"

#include "runtime/formats/Blocks.h"
#include "runtime/program/Progress.h"

#include <cmath>
#include <set>

using namespace sluice;

namespace {

constexpr uint64_t alignment = 64;

/// A linear weight and a table that are tied have the same inputs.
RandomSpread spreadOf(const WeightDescriptor &weight) {
  if (weight.use == WeightUse::Vector)
    return {weight.name.ends_with("bias") ? 0.0f : 1.0f, 0.02f};
  int64_t inputs = weight.transposed ? weight.rows : weight.cols;
  return {0, 1 / std::sqrt(float(inputs))};
}

/// Writes a row of numbers whose scales are stored apart.
void writeNumbers(uint64_t key, const RandomSpread &spread, uint8_t *to,
                  int64_t elements) {
  std::vector<BlockE4M3> blocks(size_t(elements) / sizeof(BlockE4M3::qs));
  writeRandomRow(Format::E4M3, key, spread, blocks.data(), elements);
  for (const BlockE4M3 &block : blocks)
    to = std::copy(std::begin(block.qs), std::end(block.qs), to);
}

/// Writes scales for such numbers, each from a random block.
void writeScales(const ScalesDescriptor &scales, uint64_t key,
                 const RandomSpread &spread, uint8_t *to) {
  for (int64_t i = 0; i < scales.rows * scales.cols; ++i) {
    BlockE4M3 block;
    writeRandomRow(Format::E4M3, randomKey(key, uint64_t(i)), spread, &block,
                   sizeof(block.qs));
    quantizeRow(scales.format, &block.d, to, 1);
    to += formatInfo(scales.format).blockBytes;
  }
}

/// The number of rows that the threads make before the next check for
/// cancellation.
int64_t rowsAtOnce(uint64_t rowBytes, int64_t threads) {
  constexpr uint64_t piece = uint64_t(4) << 20;
  return std::max<int64_t>(1, int64_t(piece / rowBytes)) * threads;
}

} // namespace

RandomRows sluice::randomRows(const WeightDescriptor &weight, uint64_t seed) {
  const uint64_t file = randomKey(seed, uint64_t(weight.file));
  return {randomKey(file, weight.offset), spreadOf(weight)};
}

Expected<RandomWeights>
RandomWeights::reserve(const ProgramDescriptor &program,
                       const std::vector<bool> &elsewhere) {
  RandomWeights weights;
  for (size_t i = 0; i < program.weights.size(); ++i) {
    if (i < elsewhere.size() && elsewhere[i])
      continue;
    const WeightDescriptor &weight = program.weights[i];
    const std::optional<ScalesDescriptor> &scales = weight.scales;
    if (!weights.add(weight.file, weight.offset, weight.bytes) ||
        (scales && !weights.add(scales->file, scales->offset, scales->bytes())))
      return failure("weight '", weight.name, "': too large");
  }
  Expected<cpu::ZeroedMemory> memory =
      cpu::ZeroedMemory::allocate(weights.total, "random weights");
  if (!memory)
    return memory.status();
  weights.memory = memory.take();
  return weights;
}

/// Returns false if the total number of bytes overflows.
bool RandomWeights::add(int64_t file, uint64_t offset, uint64_t bytes) {
  if (!offsets.emplace(FileOffset(file, offset), total).second)
    return true;
  uint64_t padded = (bytes + alignment - 1) / alignment * alignment;
  return padded >= bytes && !__builtin_add_overflow(total, padded, &total);
}

const uint8_t *RandomWeights::data(int64_t file, uint64_t offset) const {
  auto found = offsets.find({file, offset});
  if (found == offsets.end())
    return nullptr;
  return reinterpret_cast<const uint8_t *>(memory.floats()) + found->second;
}

Status RandomWeights::fill(const ProgramDescriptor &program, uint64_t seed,
                           cpu::ThreadPool &pool,
                           const std::function<bool()> &cancelled) {
  Progress progress("making weights", memory.bytes());
  std::set<const uint8_t *> made;
  uint64_t done = 0;
  for (const WeightDescriptor &weight : program.weights) {
    auto *to = const_cast<uint8_t *>(data(weight.file, weight.offset));
    if (!to || !made.insert(to).second)
      continue;
    const RandomRows rows = randomRows(weight, seed);
    const uint64_t bytes = *weight.storedRowBytes();
    if (const std::optional<ScalesDescriptor> &scales = weight.scales)
      writeScales(*scales, rows.keyOf(weight.rows), rows.spread,
                  const_cast<uint8_t *>(data(scales->file, scales->offset)));
    const int64_t step = rowsAtOnce(bytes, pool.threads());
    for (int64_t first = 0; first < weight.rows; first += step) {
      const int64_t last = std::min(weight.rows, first + step);
      auto body = [&](int64_t thread) {
        for (int64_t row = first + thread; row < last; row += pool.threads()) {
          const uint64_t own = rows.keyOf(row);
          uint8_t *at = to + uint64_t(row) * bytes;
          if (weight.scales)
            writeNumbers(own, rows.spread, at, weight.cols);
          else
            writeRandomRow(weight.stored, own, rows.spread, at, weight.cols);
        }
      };
      pool.run(body);
      if (cancelled && cancelled())
        return failure("interrupted");
      progress.update(done += uint64_t(last - first) * bytes);
    }
  }
  return {};
}
