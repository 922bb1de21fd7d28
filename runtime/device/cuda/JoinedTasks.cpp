//===- JoinedTasks.cpp - the tasks that share a launch --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/JoinedTasks.h"

#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

/// Returns whether two buffers share memory; those that are not there do not.
static bool overlap(const CudaProgram &program, int64_t one, int64_t other) {
  if (one == noOperand || other == noOperand)
    return false;
  const PlannedBuffer &a = program.step.buffers[size_t(one)];
  const PlannedBuffer &b = program.step.buffers[size_t(other)];
  return a.kind == b.kind && a.place < b.place + b.floats &&
         b.place < a.place + a.floats;
}

namespace {

/// A product and its weight.
struct Product {
  const ProductTask *task = nullptr;
  WeightSpec spec;
};

} // namespace

/// Returns the product with this number, or none if the task is not a product
/// or its weight is none of products.
static std::optional<Product> productAt(const CudaProgram &program,
                                        size_t number) {
  if (number >= program.step.tasks.size())
    return std::nullopt;
  const auto *task = std::get_if<ProductTask>(&program.step.tasks[number]);
  if (!task)
    return std::nullopt;
  const auto *weight =
      std::get_if<LinearWeight>(&program.weights[size_t(task->weight)]);
  if (!weight || weight->isPartner)
    return std::nullopt;
  const Expected<WeightSpec> spec = weightSpec(*weight);
  if (!spec)
    return std::nullopt;
  return Product{task, *spec};
}

/// Returns whether one launch can compute `next` besides `earlier`, which comes
/// before it.
static bool canJoin(const CudaProgram &program, const Product &earlier,
                    const Product &next) {
  const ProductTask &a = *earlier.task, &b = *next.task;
  auto apart = [&](int64_t one, int64_t other) {
    return !overlap(program, one, other);
  };
  return a.kind == b.kind && a.input == b.input &&
         earlier.spec.kind == next.spec.kind &&
         earlier.spec.inFeatures == next.spec.inFeatures &&
         apart(a.output, b.output) && apart(a.output, b.residual) &&
         apart(a.residual, b.output) && apart(a.input, b.output);
}

/// Returns whether task `first` rotates keys, perhaps queries, and nothing
/// else, and the next one appends these keys.
static bool appendsRotated(const CudaProgram &program, size_t first) {
  const std::vector<StepTask> &tasks = program.step.tasks;
  if (first + 1 >= tasks.size())
    return false;
  const auto *loop = std::get_if<RowLoopTask>(&tasks[first]);
  const auto *append = std::get_if<AppendTask>(&tasks[first + 1]);
  if (!loop || !append || loop->rotations.empty() || loop->rotations.size() > 2)
    return false;
  const CacheShape &cache = program.caches[size_t(append->cache)];
  return std::ranges::all_of(loop->rotations,
                             [&](const RowRotation &each) {
                               return each.headDim == cache.headDim &&
                                      !overlap(program, each.output,
                                               append->value);
                             }) &&
         std::ranges::count(loop->rotations, append->key,
                            &RowRotation::output) == 1;
}

size_t cuda::joinedTasks(const CudaProgram &program, size_t first) {
  if (appendsRotated(program, first))
    return 2;
  std::vector<Product> joined;
  while (joined.size() < JoinedLinearArguments::maxWeights) {
    const std::optional<Product> next =
        productAt(program, first + joined.size());
    if (!next || !std::ranges::all_of(joined, [&](const Product &earlier) {
          return canJoin(program, earlier, *next);
        }))
      break;
    joined.push_back(*next);
  }
  return std::max<size_t>(joined.size(), 1);
}

std::vector<RowNorm> cuda::tailNorms(const StepTask &task) {
  if (const auto *loop = std::get_if<RowLoopTask>(&task))
    return loop->norms;
  const auto *operand = std::get_if<OperandTask>(&task);
  if (!operand)
    return {};
  RowNorm norm;
  norm.input = operand->input;
  norm.operand = operand->output;
  norm.format = operand->format;
  return {norm};
}

/// Returns whether one block does it in less time than a launch would take. It
/// reads a row twice for an operand in f16, and has fewer threads than the
/// kernels for wide rows.
static bool isShort(const CudaProgram &program, const RowNorm &norm) {
  constexpr int64_t maxFeatures = 16384;
  const int64_t features = program.step.buffers[size_t(norm.input)].floats;
  return features % 4 == 0 &&
         features <=
             (norm.format == OperandRows::F16 ? maxFeatures / 2 : maxFeatures);
}

/// Returns whether the blocks of the task's launch can have a tail. In
/// attention that is one without norms, and only where no row is in a tile.
static bool canEndIn(const CudaProgram &program, const StepTask &task,
                     const RowNorm &norm) {
  if (std::holds_alternative<ProductTask>(task))
    return true;
  const auto *attend = std::get_if<AttendTask>(&task);
  if (!attend || norm.norm != RowNormKind::None)
    return false;
  const CacheShape &cache = program.caches[size_t(attend->cache)];
  const int64_t heads =
      program.step.attentions[size_t(attend->attention)].heads;
  return tileRows(cacheDim(static_cast<int32_t>(cache.headDim)),
                  static_cast<int32_t>(heads / cache.kvHeads)) != 1;
}

size_t cuda::tailTasks(const CudaProgram &program, size_t first, size_t next) {
  const std::vector<StepTask> &tasks = program.step.tasks;
  size_t count = 0, norms = 0;
  for (; next + count < tasks.size(); ++count) {
    const StepTask &task = tasks[next + count];
    const std::vector<RowNorm> own = tailNorms(task);
    norms += own.size();
    if (own.empty() || norms > RowTail::maxNorms ||
        recordKindOf(task) != recordKindOf(tasks[first]) ||
        !std::ranges::all_of(own, [&](const RowNorm &norm) {
          return isShort(program, norm) &&
                 canEndIn(program, tasks[first], norm);
        }))
      break;
  }
  return count;
}
