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

struct AppendedTasks {
  size_t count = 1;       ///< how many tasks have got their nodes
  bool areJoined = false; ///< whether one launch computes all of them
};

/// Appends the nodes of task number `first` of the program's plan, which has
/// passed checkStepPlan(), and of the tasks behind it that share its launch
/// (JoinedTasks.h). The graph keeps the first error: a GPU has no such task, or
/// the task's weights, widths or heads are not what the kernels take.
AppendedTasks appendTasks(StepGraph &graph, size_t first);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_GRAPHTASKS_H
