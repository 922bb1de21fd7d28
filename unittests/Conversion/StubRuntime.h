//===- StubRuntime.h - a naive runtime for emitted steps ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the functions of ProgramABI.h in the simplest form, so that the
// emitted code around them can be tested without the runtime. Threads share the
// work as in the real runtime, and a missing barrier gives wrong numbers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_STUBRUNTIME_H
#define SLUICE_UNITTESTS_CONVERSION_STUBRUNTIME_H

#include "runtime/device/cpu/CpuProgramABI.h"

#include <barrier>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sluice::test {

/// A weight as float32: values[row][col]; a vector has one row.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  bool isQuantized = false; // the product's input is quantised
  bool isTransposed = false;
  std::vector<float> values;
};

struct Row {
  int64_t sequence = 0;
  int64_t position = 0;
  int64_t token = 0;
  bool isOutput = true;
};

/// The old and the new place of a record.
using Move = std::pair<int64_t, int64_t>;

struct RopeFrequencies {
  std::vector<float> inverse;
  float factor = 1.0f;
};

/// The cache of a layer: keys[sequence][position][kvHeads * headDim], and
/// values of the same shape.
struct LayerCache {
  int64_t width = 0; // kvHeads * headDim
  std::vector<float> keys, values;
};

constexpr int64_t maxSequences = 16;
constexpr int64_t maxPositions = 64;

/// Rounds a row to 8 bits in blocks of 32, like the stub's quantised rows.
void roundTrip(std::vector<float> &row);

/// A function with its name, for a just-in-time compiler.
struct RuntimeFunction {
  const char *name;
  void *address;
};
std::vector<RuntimeFunction> getRuntimeFunctions();

} // namespace sluice::test

/// The state of a step. It is opaque to emitted code.
struct SluiceStep {
  std::vector<sluice::test::Row> rows;
  std::vector<int64_t> outputRows;
  std::vector<sluice::test::Matrix> weights; // by index of use
  std::vector<sluice::test::RopeFrequencies> ropeTables;
  std::vector<sluice::test::LayerCache> caches;
  std::barrier<> *barrier = nullptr;

  // The rows from the previous stage and for the next stage: [row][cols].
  std::vector<float> received, sent;

  /// The sequences whose rows die before each checkpoint. Checkpoints are
  /// counted from 0 in a step. The test sets this.
  std::map<int64_t, std::set<int64_t>> deaths;
  int64_t checkpoints = 0;
  std::vector<sluice::test::Move> rowMoves,
      outputMoves; // last checkpoint's
};

#endif // SLUICE_UNITTESTS_CONVERSION_STUBRUNTIME_H
