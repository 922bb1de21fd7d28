//===- CudaProgram.cpp - a compiled program for a GPU, and its weights ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaProgram.h"

#include "runtime/device/cuda/weights/WeightMaker.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace sluice::cuda {

namespace {

/// sluice_compact keeps a byte for each row in shared memory.
constexpr int64_t maxRows = 32768;
constexpr int64_t maxSequences = 1 << 20;
constexpr int64_t maxPages = 1 << 30;

Status checkMatrix(const std::string &name, const StoredMatrix &matrix) {
  if ((!matrix.data && !matrix.random) || matrix.rows < 1 || matrix.cols < 1 ||
      !rowBytes(matrix.stored, matrix.cols))
    return failure("executor: weight '", name, "' has no rows of ",
                   formatInfo(matrix.stored).name);
  return {};
}

/// Checks that the shared place has the tiles that the table would have.
Status checkTied(const CudaProgram &program, const TableWeight &table) {
  const LinearWeight *linear =
      table.tied < std::ssize(program.weights)
          ? std::get_if<LinearWeight>(&program.weights[size_t(table.tied)])
          : nullptr;
  if (!linear || linear->transposed || linear->partner || linear->isPartner ||
      linear->matrix.data != table.matrix.data ||
      linear->matrix.random != table.matrix.random ||
      linear->matrix.stored != table.matrix.stored ||
      linear->matrix.format != table.matrix.format ||
      linear->matrix.rows != table.matrix.rows ||
      linear->matrix.cols != table.matrix.cols || linear->matrix.scales)
    return failure("executor: weight '", table.name, "' is not weight ",
                   table.tied);
  return {};
}

/// Checks that kernels can make all parts of a weight that is to be made on the
/// device.
Status checkRandom(const CudaWeight &weight) {
  const auto *linear = std::get_if<LinearWeight>(&weight);
  auto check = [&](const auto &each) -> Status {
    const bool isRandom = each.matrix.random.has_value();
    const bool isHalf = linear && linear->partner &&
                        linear->partner->random.has_value() != isRandom;
    if (isHalf || (isRandom && !canMakeOnDevice(weight)))
      return failure("executor: weight '", each.name,
                     "' cannot be made on the device");
    return {};
  };
  return std::visit(check, weight);
}

Status checkWeight(const CudaProgram &program, const CudaWeight &weight) {
  if (const auto *table = std::get_if<TableWeight>(&weight)) {
    SLUICE_RETURN_IF_ERROR(checkMatrix(table->name, table->matrix));
    if (table->tied < 0)
      return weightSpec(tilesOf(*table)).status();
    return checkTied(program, *table);
  }
  if (const auto *vector = std::get_if<VectorWeight>(&weight))
    return checkMatrix(vector->name, vector->matrix);
  const auto &linear = std::get<LinearWeight>(weight);
  SLUICE_RETURN_IF_ERROR(checkMatrix(linear.name, linear.matrix));
  if (linear.partner)
    SLUICE_RETURN_IF_ERROR(checkMatrix(linear.name, *linear.partner));
  return weightSpec(linear).status();
}

Status checkProgram(const CudaProgram &program) {
  SLUICE_RETURN_IF_ERROR(program.checkSizes());
  constexpr int64_t most32 = std::numeric_limits<int32_t>::max();
  for (const device::CacheShape &shape : program.caches)
    if (shape.kvHeads < 1 || shape.kvHeads > 65535 || shape.headDim < 1 ||
        cacheDim(static_cast<int32_t>(std::min(shape.headDim, most32))) == 0)
      return failure("executor: a cache of ", shape.kvHeads, " heads of ",
                     shape.headDim, " numbers; kernels have up to 256");
  for (const CudaWeight &weight : program.weights) {
    SLUICE_RETURN_IF_ERROR(checkWeight(program, weight));
    SLUICE_RETURN_IF_ERROR(checkRandom(weight));
  }
  return device::checkStepPlan(program, std::ssize(program.weights));
}

} // namespace

LinearWeight tilesOf(const TableWeight &table) {
  LinearWeight tiles = {table.name, table.matrix, false, {}};
  if (!weightKind(table.matrix.format) &&
      table.matrix.stored == table.matrix.format)
    tiles.matrix.format = Format::F32;
  return tiles;
}

Expected<CudaExecutorOptions> resolveOptions(const CudaProgram &program,
                                             CudaExecutorOptions limits) {
  SLUICE_RETURN_IF_ERROR(checkProgram(program));
  if (limits.contextLength == 0)
    limits.contextLength = program.contextLength;
  for (auto [what, value, max] :
       {std::tuple{"context length", limits.contextLength,
                   program.contextLength},
        std::tuple{"rows", limits.rows, maxRows},
        std::tuple{"outputs", limits.outputs, maxRows},
        std::tuple{"sequences", limits.sequences, maxSequences},
        std::tuple{"pages", limits.pages, maxPages}})
    SLUICE_RETURN_IF_ERROR(device::checkRange(what, value, 1, max));
  limits.outputs = std::min(limits.outputs, limits.rows);
  return limits;
}

} // namespace sluice::cuda
