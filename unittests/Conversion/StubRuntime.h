//===- StubRuntime.h - a naive runtime for emitted steps ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of ProgramABI.h in their plainest form, so that the emitted
// code around them can be tested without the runtime: threads share their work
// as the real ones do, and a missing barrier gives wrong numbers.
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
  bool isQuantized = false; // takes quantised activations
  bool isTransposed = false;
  std::vector<float> values;
};

struct Row {
  int64_t sequence = 0;
  int64_t position = 0;
  int64_t token = 0;
  bool isOutput = true;
};

/// A record's old and new place.
using Move = std::pair<int64_t, int64_t>;

struct RopeFrequencies {
  std::vector<float> inverse;
  float factor = 1.0f;
};

/// keys[sequence][position][kvHeads * headDim], values alike.
struct LayerCache {
  int64_t width = 0; // kvHeads * headDim
  std::vector<float> keys, values;
};

constexpr int64_t maxSequences = 16;
constexpr int64_t maxPositions = 64;

/// Rounds to 8 bits in blocks of 32 as the stub's quantised rows do.
void roundTrip(std::vector<float> &row);

/// Functions by name, for a JIT.
struct RuntimeFunction {
  const char *name;
  void *address;
};
std::vector<RuntimeFunction> getRuntimeFunctions();

} // namespace sluice::test

/// Opaque to emitted code.
struct SluiceStep {
  std::vector<sluice::test::Row> rows;
  std::vector<int64_t> outputRows;
  std::vector<sluice::test::Matrix> weights; // by index of use
  std::vector<sluice::test::RopeFrequencies> ropeTables;
  std::vector<sluice::test::LayerCache> caches;
  std::barrier<> *barrier = nullptr;

  // Rows of the stage before, and for the stage behind: [row][cols].
  std::vector<float> received, sent;

  /// The sequences whose rows die before a checkpoint, counted from 0 over the
  /// step. Set by the test.
  std::map<int64_t, std::set<int64_t>> deaths;
  int64_t checkpoints = 0;
  std::vector<sluice::test::Move> rowMoves, outputMoves; // the last one's
};

#endif // SLUICE_UNITTESTS_CONVERSION_STUBRUNTIME_H
