//===- JoinedTasks.cpp - the tasks that share a launch --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/JoinedTasks.h"

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

namespace {

/// A product and its weight.
struct Product {
  const ProductTask *task = nullptr;
  WeightSpec spec;
};

class ProductJoiner {
public:
  explicit ProductJoiner(const CudaProgram &program) : program(program) {}

  /// Returns the product with this number, or none if the task is not a product
  /// or its weight is none of products.
  std::optional<Product> productAt(size_t number) const;

  /// Returns whether one launch can compute `next` besides `earlier`, which
  /// comes before it.
  bool canJoin(const Product &earlier, const Product &next) const;

private:
  bool overlap(int64_t one, int64_t other) const;

  const CudaProgram &program;
};

} // namespace

std::optional<Product> ProductJoiner::productAt(size_t number) const {
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

/// Returns whether two buffers share memory; those that are not there do not.
bool ProductJoiner::overlap(int64_t one, int64_t other) const {
  if (one == noOperand || other == noOperand)
    return false;
  const PlannedBuffer &a = program.step.buffers[size_t(one)];
  const PlannedBuffer &b = program.step.buffers[size_t(other)];
  return a.kind == b.kind && a.place < b.place + b.floats &&
         b.place < a.place + a.floats;
}

bool ProductJoiner::canJoin(const Product &earlier, const Product &next) const {
  const ProductTask &a = *earlier.task, &b = *next.task;
  return a.kind == b.kind && a.input == b.input &&
         earlier.spec.kind == next.spec.kind &&
         earlier.spec.inFeatures == next.spec.inFeatures &&
         !overlap(a.output, b.output) && !overlap(a.output, b.residual) &&
         !overlap(a.residual, b.output) && !overlap(a.input, b.output);
}

size_t cuda::joinedTasks(const CudaProgram &program, size_t first) {
  const ProductJoiner joiner(program);
  std::vector<Product> joined;
  while (joined.size() < JoinedLinearArguments::maxWeights) {
    const std::optional<Product> next = joiner.productAt(first + joined.size());
    if (!next || !std::ranges::all_of(joined, [&](const Product &earlier) {
          return joiner.canJoin(earlier, *next);
        }))
      break;
    joined.push_back(*next);
  }
  return std::max<size_t>(joined.size(), 1);
}
