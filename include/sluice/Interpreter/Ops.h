//===- Ops.h - the definition of each op of the dialect -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines each op of the phase `model` by a function, against which every
// lowering and pass is tested. The functions are written to be read. Elements
// are float32 as in every execution; sums are computed in double and rounded
// once, so that a difference from these results is due to the rounding of the
// tested code.
//
// The functions do not check shapes and attributes, which the ops' verifiers
// have accepted. All functions are pure except evalAppend(), which stores into
// the cache.
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

/// Returns result[r] = table[indices[r]]. The indices are inside the table.
RowData evalEmbed(const WeightData &table, std::span<const int32_t> indices);

/// Normalises each of the `heads` equal parts of each row by itself.
RowData evalRmsNorm(const RowData &input, const WeightData &weight,
                    int64_t heads, double epsilon);

/// The same with the mean taken away first. `bias` may be null.
RowData evalLayerNorm(const RowData &input, const WeightData &weight,
                      const WeightData *bias, int64_t heads, double epsilon);

/// Output columns [begin, end) of a product.
struct Columns {
  int64_t begin;
  int64_t end;
};

/// Returns y[r][o - columns.begin] = sum_i x[r][i] * weight[o][i] + bias[o],
/// for each column o of `columns`. If `transposed`, weight[o][i] is
/// weight[i][o]. `bias` may be null.
RowData evalLinear(const RowData &input, const WeightData &weight,
                   const WeightData *bias, bool transposed, Columns columns);

/// Joins the rows of all inputs side by side. All inputs have the same number
/// of rows.
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
  /// The frequencies of the rotated pairs. The first 2 * inverse.size()
  /// features of a head are rotated.
  ir::RopeFrequencies frequencies;
};

/// Returns for each position the cosines of all pairs, then their sines.
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
  /// The factor of ALiBi's slopes.
  std::optional<double> alibi = std::nullopt;
  /// The slopes are computed for `allHeads` heads and used from `firstHead` on.
  /// If 0, they are computed for `heads` heads.
  int64_t allHeads = 0;
  int64_t firstHead = 0;
};

/// Stores the rows' keys and values, also where the batch mirrors them. `table`
/// is as in KVCache.
void evalAppend(const RowData &key, const RowData &value, KVCache &cache,
                const StepBatch &batch, const CachePages &table);

/// Attends to the stored keys and values. Returns result[row][heads][headDim].
RowData evalAttend(const RowData &query, const KVCache &cache,
                   const StepBatch &batch, const AttendParams &params,
                   const CachePages &table);

/// Returns ALiBi's slope for each of `heads` heads.
std::vector<double> alibiSlopes(int64_t heads);

/// Returns the sum of all inputs, one for each member, and of all biases.
RowData evalAllReduce(std::span<const RowData *const> inputs,
                      std::span<const WeightData *const> biases);

/// Joins the rows of all inputs, one for each member, side by side to rows of
/// `width` features. If the inputs have more features together, the last inputs
/// overlap.
RowData evalAllGather(std::span<const RowData *const> inputs, int64_t width);

/// Returns the rows that the batch marks as outputs.
RowData evalSelectOutputs(const RowData &input, const StepBatch &batch);

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_OPS_H
