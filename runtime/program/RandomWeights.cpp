//===- RandomWeights.cpp - a program's weights, made of a seed ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/RandomWeights.h"

#include "runtime/formats/RandomRow.h"
#include "runtime/program/Progress.h"

#include <cmath>
#include <set>

using namespace sluice;

namespace {

constexpr uint64_t alignment = 64;

/// A matrix and a table of the same weight have the same inputs.
RandomSpread spreadOf(const WeightDescriptor &weight) {
  if (weight.use == WeightUse::Vector)
    return {weight.name.ends_with("bias") ? 0.0f : 1.0f, 0.02f};
  int64_t inputs = weight.transposed ? weight.rows : weight.cols;
  return {0, 1 / std::sqrt(float(inputs))};
}

/// Rows that threads make before somebody asks whether to go on.
int64_t rowsAtOnce(uint64_t rowBytes, int64_t threads) {
  constexpr uint64_t piece = uint64_t(4) << 20;
  return std::max<int64_t>(1, int64_t(piece / rowBytes)) * threads;
}

} // namespace

Expected<RandomWeights>
RandomWeights::reserve(const ProgramDescriptor &program) {
  RandomWeights weights;
  uint64_t total = 0;
  for (const WeightDescriptor &weight : program.weights) {
    if (!weights.offsets.emplace(Place(weight.file, weight.offset), total)
             .second)
      continue;
    uint64_t padded = (weight.bytes + alignment - 1) / alignment * alignment;
    if (padded < weight.bytes || __builtin_add_overflow(total, padded, &total))
      return failure("weight '", weight.name, "': too large");
  }
  Expected<cpu::ZeroedMemory> memory =
      cpu::ZeroedMemory::allocate(total, "random weights");
  if (!memory)
    return memory.status();
  weights.memory = memory.take();
  return weights;
}

const uint8_t *RandomWeights::data(const WeightDescriptor &weight) const {
  return reinterpret_cast<const uint8_t *>(memory.floats()) +
         offsets.at({weight.file, weight.offset});
}

Status RandomWeights::fill(const ProgramDescriptor &program, uint64_t seed,
                           cpu::ThreadPool &pool,
                           const std::function<bool()> &cancelled) {
  Progress progress("making weights", memory.bytes());
  std::set<const uint8_t *> made;
  uint64_t done = 0;
  for (const WeightDescriptor &weight : program.weights) {
    auto *to = const_cast<uint8_t *>(data(weight));
    if (!made.insert(to).second)
      continue;
    const RandomSpread spread = spreadOf(weight);
    const uint64_t key =
        randomKey(randomKey(seed, uint64_t(weight.file)), weight.offset);
    const uint64_t bytes = *rowBytes(weight.stored, weight.cols);
    const int64_t step = rowsAtOnce(bytes, pool.threads());
    for (int64_t first = 0; first < weight.rows; first += step) {
      const int64_t last = std::min(weight.rows, first + step);
      auto body = [&](int64_t thread) {
        for (int64_t row = first + thread; row < last; row += pool.threads())
          writeRandomRow(weight.stored, randomKey(key, uint64_t(row)), spread,
                         to + uint64_t(row) * bytes, weight.cols);
      };
      pool.run(body);
      if (cancelled && cancelled())
        return failure("interrupted");
      progress.update(done += uint64_t(last - first) * bytes);
    }
  }
  return {};
}
