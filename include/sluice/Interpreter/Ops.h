//===- Ops.h - what each op of the dialect computes -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each op of the phase `model`: the definition that every
// lowering and pass is tested against. They are written to be read. Elements
// are float32 as in every execution; sums run in double and are rounded once,
// so that a difference from here is the other side's rounding.
//
// Shapes and attributes are those that the ops' verifiers accept; nothing is
// checked again. All functions are pure but evalAttend, which stores into the
// cache.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_OPS_H
#define SLUICE_INTERPRETER_OPS_H

#include "runtime/core/StepBatch.h"
#include "sluice/Dialect/Sluice/IR/RopeFrequencies.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"
#include "sluice/Interpreter/KVCache.h"
#include "sluice/Interpreter/RowData.h"
#include "sluice/Interpreter/WeightStore.h"

#include <optional>

namespace sluice::interpreter {

/// result[r] = table[indices[r]]; the indices are inside the table.
RowData evalEmbed(const WeightData &table, std::span<const int32_t> indices);

RowData evalRmsNorm(const RowData &input, const WeightData &weight,
                    double epsilon);

/// `bias` may be null.
RowData evalLayerNorm(const RowData &input, const WeightData &weight,
                      const WeightData *bias, double epsilon);

/// Output columns [begin, end) of a product.
struct Columns {
  int64_t begin;
  int64_t end;
};

/// y[r][o - columns.begin] = sum_i x[r][i] * weight[o][i] + bias[o], or
/// weight[i][o] where `transposed`, for the columns o; `bias` may be null.
RowData evalLinear(const RowData &input, const WeightData &weight,
                   const WeightData *bias, bool transposed, Columns columns);

/// The rows of all inputs side by side; they have as many rows each.
RowData evalConcat(std::span<const RowData *const> inputs);

struct QKVRows {
  RowData query; // query[row][heads][headDim]
  RowData key;   // key[row][kvHeads][headDim]
  RowData value; // value[row][kvHeads][headDim]
};

QKVRows evalSplitQKV(const RowData &input, ir::QKVLayout layout, int64_t heads,
                     int64_t kvHeads, int64_t headDim);

struct RopeParams {
  ir::RopeStyle style;
  int64_t heads;
  int64_t headDim;
  /// One for each rotated pair: the first 2 * inverse.size() features of a
  /// head are rotated.
  ir::RopeFrequencies frequencies;
};

/// For each position the cosines of all pairs, then their sines.
RowData evalRotations(std::span<const int32_t> positions,
                      const ir::RopeFrequencies &frequencies);

/// Rotates the first `rotations.width()` features of each head.
RowData evalRotate(const RowData &input, const RowData &rotations,
                   ir::RopeStyle style, int64_t heads, int64_t headDim);

RowData evalRope(const RowData &input, std::span<const int32_t> positions,
                 const RopeParams &params);

float activate(ir::ActivationKind kind, float x);
RowData evalActivation(ir::ActivationKind kind, const RowData &input);
RowData evalGate(ir::ActivationKind kind, const RowData &gate,
                 const RowData &input);
RowData evalAdd(const RowData &lhs, const RowData &rhs);

struct AttendParams {
  int64_t heads;
  double scale;
  std::optional<int64_t> window = std::nullopt;
  std::optional<double> softcap = std::nullopt;
  /// Multiplies the slopes.
  std::optional<double> alibi = std::nullopt;
  /// The slopes are those of `allHeads` heads from `firstHead` on; 0: of
  /// `heads`.
  int64_t allHeads = 0;
  int64_t firstHead = 0;
};

/// Stores the rows' keys and values.
void evalAppend(const RowData &key, const RowData &value, KVCache &cache,
                const StepBatch &batch);

/// Attends to what is stored: result[row][heads][headDim].
RowData evalAttend(const RowData &query, const KVCache &cache,
                   const StepBatch &batch, const AttendParams &params);

/// One slope for each of `heads` heads.
std::vector<double> alibiSlopes(int64_t heads);

/// The sum of all inputs, one for each member, and of all biases.
RowData evalAllReduce(std::span<const RowData *const> inputs,
                      std::span<const WeightData *const> biases);

/// The rows of all inputs, one for each member, side by side, `width` wide: the
/// last ones overlap where that is less than they have together.
RowData evalAllGather(std::span<const RowData *const> inputs, int64_t width);

/// The rows that the batch marks as outputs.
RowData evalSelectOutputs(const RowData &input, const StepBatch &batch);

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_OPS_H
