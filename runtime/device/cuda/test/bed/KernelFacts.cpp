//===- KernelFacts.cpp - facts about kernels for the bed ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/KernelFacts.h"

#include "runtime/device/cuda/kernels/Kernels.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

using namespace sluice;
using namespace sluice::cuda;

namespace {

//===----------------------------------------------------------------------===//
// The exactness of kernels
//===----------------------------------------------------------------------===//

/// The first line whose text is a prefix of a kernel's name counts. All other
/// kernels have the same bits: embeddings, operand rows, cache appends,
/// compaction, sampling, page copies, exchanges of groups, unpacked weights and
/// the results of their products.
constexpr struct {
  std::string_view prefix;
  double allowed;
} limits[] = {
    // Sums of f32 by fma are in the emulator's order.
    {"sluice_linear_f32_", 0},
    // The tensor units round the sums of a product in their own way after each
    // 16 features.
    {"sluice_linear_", 1e-4},
    // Because of that, some probabilities round to another 16-bit number.
    {"sluice_attend_", 2e-3},
};

//===----------------------------------------------------------------------===//
// Names of fields
//===----------------------------------------------------------------------===//

struct Field {
  size_t offset;
  std::string_view name;
};

#define SLUICE_FIELD(Arguments, field) {offsetof(Arguments, field), #field}

constexpr Field operandFields[] = {
    SLUICE_FIELD(OperandArguments, x),
    SLUICE_FIELD(OperandArguments, operand),
    SLUICE_FIELD(OperandArguments, scales),
    SLUICE_FIELD(OperandArguments, sums),
    SLUICE_FIELD(OperandArguments, rowCount),
};
#define SLUICE_ROWS(Arguments, of)                                             \
  SLUICE_FIELD(Arguments, of.x), SLUICE_FIELD(Arguments, of.rowScales),        \
      SLUICE_FIELD(Arguments, of.blockSums),                                   \
      SLUICE_FIELD(Arguments, of.partials),                                    \
      SLUICE_FIELD(Arguments, of.tickets),                                     \
      SLUICE_FIELD(Arguments, of.rowCount)
#define SLUICE_COLUMNS(Arguments, of)                                          \
  SLUICE_FIELD(Arguments, of.weight), SLUICE_FIELD(Arguments, of.bias),        \
      SLUICE_FIELD(Arguments, of.partnerBias),                                 \
      SLUICE_FIELD(Arguments, of.residual), SLUICE_FIELD(Arguments, of.y)
#define SLUICE_NORM(Arguments, of)                                             \
  SLUICE_FIELD(Arguments, of.x), SLUICE_FIELD(Arguments, of.weight),           \
      SLUICE_FIELD(Arguments, of.bias), SLUICE_FIELD(Arguments, of.y),         \
      SLUICE_FIELD(Arguments, of.operand), SLUICE_FIELD(Arguments, of.scales), \
      SLUICE_FIELD(Arguments, of.sums)
#define SLUICE_TAIL(Arguments)                                                 \
  SLUICE_FIELD(Arguments, tail.ticket), SLUICE_NORM(Arguments, tail.norms[0]), \
      SLUICE_NORM(Arguments, tail.norms[1])
constexpr Field linearFields[] = {
    SLUICE_ROWS(JoinedLinearArguments, rows),
    SLUICE_COLUMNS(JoinedLinearArguments, columns[0]),
    SLUICE_COLUMNS(JoinedLinearArguments, columns[1]),
    SLUICE_COLUMNS(JoinedLinearArguments, columns[2]),
    SLUICE_COLUMNS(JoinedLinearArguments, columns[3]),
    SLUICE_TAIL(JoinedLinearArguments),
};
constexpr Field linearTileFields[] = {
    SLUICE_ROWS(LinearArguments, rows),
    SLUICE_COLUMNS(LinearArguments, columns),
};
constexpr Field denseWeightFields[] = {
    SLUICE_FIELD(DenseWeightArguments, weight),
    SLUICE_FIELD(DenseWeightArguments, dense),
    SLUICE_FIELD(DenseWeightArguments, rowCount),
};
constexpr Field denseResultFields[] = {
    SLUICE_ROWS(DenseResultArguments, linear.rows),
    SLUICE_COLUMNS(DenseResultArguments, linear.columns),
    SLUICE_FIELD(DenseResultArguments, sums),
};
constexpr Field embedFields[] = {
    SLUICE_FIELD(EmbedArguments, table),
    SLUICE_FIELD(EmbedArguments, index),
    SLUICE_FIELD(EmbedArguments, out),
    SLUICE_FIELD(EmbedArguments, rowCount),
};
constexpr Field appendFields[] = {
    SLUICE_FIELD(AppendArguments, keys.x),
    SLUICE_FIELD(AppendArguments, keys.y),
    SLUICE_FIELD(AppendArguments, keys.table),
    SLUICE_FIELD(AppendArguments, queries.x),
    SLUICE_FIELD(AppendArguments, queries.y),
    SLUICE_FIELD(AppendArguments, queries.table),
    SLUICE_FIELD(AppendArguments, k),
    SLUICE_FIELD(AppendArguments, v),
    SLUICE_FIELD(AppendArguments, cache),
    SLUICE_FIELD(AppendArguments, rows.rowCount),
    SLUICE_FIELD(AppendArguments, rows.positions),
    SLUICE_FIELD(AppendArguments, rows.sequences),
    SLUICE_FIELD(AppendArguments, rows.pages),
    SLUICE_FIELD(AppendArguments, mirrorCount),
    SLUICE_FIELD(AppendArguments, mirrorRows),
    SLUICE_FIELD(AppendArguments, mirrorSequences),
};
constexpr Field attendFields[] = {
    SLUICE_FIELD(AttendArguments, q),
    SLUICE_FIELD(AttendArguments, out),
    SLUICE_FIELD(AttendArguments, cache),
    SLUICE_FIELD(AttendArguments, rows.rowCount),
    SLUICE_FIELD(AttendArguments, rows.positions),
    SLUICE_FIELD(AttendArguments, rows.sequences),
    SLUICE_FIELD(AttendArguments, rows.pages),
    SLUICE_FIELD(AttendArguments, alibiSlopes),
    SLUICE_FIELD(AttendArguments, partials),
    SLUICE_FIELD(AttendArguments, spanPlaces),
    SLUICE_FIELD(AttendArguments, tickets),
    SLUICE_TAIL(AttendArguments),
};
constexpr Field pageCopyFields[] = {
    SLUICE_FIELD(PageCopyArguments, layers),
    SLUICE_FIELD(PageCopyArguments, copies),
    SLUICE_FIELD(PageCopyArguments, copyCount),
};
constexpr Field compactFields[] = {
    SLUICE_FIELD(CompactArguments, alive),
    SLUICE_FIELD(CompactArguments, rowCount),
    SLUICE_FIELD(CompactArguments, states[0]),
    SLUICE_FIELD(CompactArguments, states[1]),
    SLUICE_FIELD(CompactArguments, states[2]),
    SLUICE_FIELD(CompactArguments, states[3]),
    SLUICE_FIELD(CompactArguments, states[4]),
    SLUICE_FIELD(CompactArguments, origins),
    SLUICE_FIELD(CompactArguments, wantsOutput),
    SLUICE_FIELD(CompactArguments, outputCount),
    SLUICE_FIELD(CompactArguments, outputRows),
    SLUICE_FIELD(CompactArguments, outputSources),
    SLUICE_FIELD(CompactArguments, departedAt),
    SLUICE_FIELD(CompactArguments, passed),
    SLUICE_FIELD(CompactArguments, mirrorCount),
    SLUICE_FIELD(CompactArguments, mirrorRows),
    SLUICE_FIELD(CompactArguments, mirrorSequences),
    SLUICE_FIELD(CompactArguments, moves),
    SLUICE_FIELD(CompactArguments, moveCount),
    SLUICE_FIELD(CompactArguments, rowNow),
};
constexpr Field moveFields[] = {
    SLUICE_FIELD(MoveArguments, values[0]),
    SLUICE_FIELD(MoveArguments, values[1]),
    SLUICE_FIELD(MoveArguments, values[2]),
    SLUICE_FIELD(MoveArguments, values[3]),
    SLUICE_FIELD(MoveArguments, values[4]),
    SLUICE_FIELD(MoveArguments, values[5]),
    SLUICE_FIELD(MoveArguments, values[6]),
    SLUICE_FIELD(MoveArguments, values[7]),
    SLUICE_FIELD(MoveArguments, moves),
    SLUICE_FIELD(MoveArguments, moveCount),
};
constexpr Field sumPartsFields[] = {
    SLUICE_FIELD(SumPartsArguments, parts.mine),
    SLUICE_FIELD(SumPartsArguments, parts.others),
    SLUICE_FIELD(SumPartsArguments, to),
    SLUICE_FIELD(SumPartsArguments, exchange.passed),
};
constexpr Field joinColumnsFields[] = {
    SLUICE_FIELD(JoinColumnsArguments, parts.mine),
    SLUICE_FIELD(JoinColumnsArguments, parts.others),
    SLUICE_FIELD(JoinColumnsArguments, to),
    SLUICE_FIELD(JoinColumnsArguments, rowCount),
    SLUICE_FIELD(JoinColumnsArguments, exchange.passed),
};
constexpr Field randomFields[] = {
    SLUICE_FIELD(RandomArguments, tiles),
};
constexpr Field readAliveFields[] = {
    SLUICE_FIELD(ReadAliveArguments, alive),
    SLUICE_FIELD(ReadAliveArguments, decided),
};
constexpr Field sampleFields[] = {
    SLUICE_FIELD(SampleArguments, logits),
    SLUICE_FIELD(SampleArguments, requests),
    SLUICE_FIELD(SampleArguments, sources),
    SLUICE_FIELD(SampleArguments, tokens),
    SLUICE_FIELD(SampleArguments, candidates),
    SLUICE_FIELD(SampleArguments, found),
    SLUICE_FIELD(SampleArguments, outputCount),
};

/// Applies to the kernels whose names have that prefix.
const struct {
  std::string_view prefix;
  std::span<const Field> fields;
} structures[] = {
    {"sluice_operand_rows", operandFields},
    {"sluice_linear_tile_", linearTileFields},
    {"sluice_linear_", linearFields},
    {"sluice_dense_weight_", denseWeightFields},
    {"sluice_dense_results_", denseResultFields},
    {"sluice_embed_", embedFields},
    {"sluice_append_cache", appendFields},
    {"sluice_attend_", attendFields},
    {"sluice_copy_pages", pageCopyFields},
    {"sluice_compact", compactFields},
    {"sluice_move_values", moveFields},
    {"sluice_sum_parts", sumPartsFields},
    {"sluice_join_columns", joinColumnsFields},
    {"sluice_random_", randomFields},
    {"sluice_read_alive", readAliveFields},
    {"sluice_sample_", sampleFields},
};

} // namespace

double cuda::differenceAllowed(const std::string &kernel) {
  for (const auto &limit : limits)
    if (kernel.starts_with(limit.prefix))
      return limit.allowed;
  return 0;
}

std::string cuda::fieldName(const std::string &kernel, size_t word) {
  for (const auto &structure : structures)
    if (kernel.starts_with(structure.prefix))
      for (const Field &field : structure.fields)
        if (field.offset == word * sizeof(uint64_t))
          return std::string(field.name);
  return "argument word " + std::to_string(word);
}
