//===- TaskContext.cpp - where a task's operands lie on the GPU --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/TaskContext.h"

#include "runtime/device/cuda/kernels/OperandLayout.h"

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

const char *cuda::nameOf(WeightKind kind) {
  constexpr const char *names[] = {"f32",  "f16",  "bf16", "e4m3",
                                   "q8_0", "q4_0", "q4_k", "q6_k"};
  return names[static_cast<int>(kind)];
}

const float *TaskContext::vectorAddress(int64_t weight) {
  if (!std::holds_alternative<VectorWeight>(program.weights[size_t(weight)])) {
    failWith("weight ", weight, " is not a vector");
    return nullptr;
  }
  return inArena<float>(memory.weights[size_t(weight)]);
}

const float *TaskContext::vectorAddress(const char *what, int64_t weight,
                                        int64_t columns) {
  if (weight == noOperand)
    return nullptr;
  const float *address = vectorAddress(weight);
  const auto *vector =
      std::get_if<VectorWeight>(&program.weights[size_t(weight)]);
  if (vector && vector->matrix.rows * vector->matrix.cols != columns)
    failWith(what, " of ", vector->matrix.rows * vector->matrix.cols,
             " numbers for ", columns, " columns");
  return address;
}

OperandParts TaskContext::operandParts(int64_t index, int64_t features,
                                       OperandKind kind) {
  OperandParts parts;
  if (int64_t floats = operandRowFloats(kind, features);
      buffer(index).floats != floats) {
    failWith("an operand of ", features, " features has records of ", floats,
             " floats, and buffer ", index, " of ", buffer(index).floats);
    return parts;
  }
  parts.rows = addressOf(index);
  if (kind == OperandKind::F16) {
    parts.sums = addressOf(index, operandSumsOffset(features));
    parts.scales = addressOf(index, operandScalesOffset(features));
  }
  return parts;
}
