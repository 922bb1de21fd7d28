//===- TaskContext.h - where a task's operands lie on the GPU ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all that append nodes to a graph need of it and of the program's plan.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TASKCONTEXT_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TASKCONTEXT_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// Returns the kind as it occurs in the names of kernels.
const char *nameOf(WeightKind kind);

/// The addresses of the parts of operand rows.
struct OperandParts {
  void *rows = nullptr;
  float *scales = nullptr; ///< null but for f16, as are the sums
  float *sums = nullptr;
};

/// A task of the plan while its nodes are appended. Its functions record the
/// first error in the graph, with the task's number.
class TaskContext {
public:
  TaskContext(StepGraph &graph, size_t number)
      : graph(graph), program(*graph.context.program),
        memory(graph.context.plan), number(number) {}

protected:
  template <typename... Parts> void failWith(const Parts &...parts) {
    graph.failWith("task ", number, ": ", parts...);
  }

  const device::PlannedBuffer &buffer(int64_t index) const {
    return program.step.buffers[size_t(index)];
  }
  /// Returns the address of a buffer, or of the part of it that begins at float
  /// `part` of a record.
  float *addressOf(int64_t index, int64_t part = 0) const {
    const device::PlannedBuffer &it = buffer(index);
    return graph.pointer<float>(graph.recordsAt(it.kind, it.place + part));
  }
  uint8_t *weightAddress(int64_t weight) const {
    return inArena<uint8_t>(memory.weights[size_t(weight)]);
  }
  template <typename T> T *inArena(uint64_t offset) const {
    return graph.pointer<T>(graph.context.arena + offset);
  }

  /// Returns null and records an error if the weight is not a vector.
  const float *vectorAddress(int64_t weight);
  /// Returns null if there is no such weight, or records an error if it has not
  /// a number for each of the `columns`. `what` is its name with an article.
  const float *vectorAddress(const char *what, int64_t weight, int64_t columns);
  /// Returns the parts of an operand of `features`, or records an error if the
  /// buffer's records are not made for it.
  OperandParts operandParts(int64_t index, int64_t features, OperandKind kind);

  StepGraph &graph;
  const CudaProgram &program;
  const MemoryPlan &memory;
  const size_t number; ///< of the task
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TASKCONTEXT_H
