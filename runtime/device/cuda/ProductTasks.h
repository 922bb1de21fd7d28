//===- ProductTasks.h - the nodes of products and their tails ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PRODUCTTASKS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PRODUCTTASKS_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// Appends the `count` tasks from number `first` on, which are products that
/// can share a launch (JoinedTasks.h). They do, and have the tail, where there
/// are few rows.
void appendProducts(StepGraph &graph, size_t first, size_t count,
                    const RowTail &tail);

/// Appends task `number`, which makes operands.
void appendOperand(StepGraph &graph, size_t number);

/// Adds what task `number` does to the tail of the launch before it. The task
/// is one of tailTasks().
void addToTail(StepGraph &graph, size_t number, RowTail &tail);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PRODUCTTASKS_H
