//===- GraphTasks.h - the nodes of a plan's tasks -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_GRAPHTASKS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_GRAPHTASKS_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// Appends the nodes of a task of the program's plan, which has passed
/// checkStepPlan(). `number` is the task's in the plan. The graph keeps the
/// first error: a GPU has no such task, or the task's weights, widths or heads
/// are not what the kernels take.
void appendTask(StepGraph &graph, size_t number);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_GRAPHTASKS_H
