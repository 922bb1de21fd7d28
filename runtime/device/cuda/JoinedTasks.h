//===- JoinedTasks.h - the tasks that share a launch ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_JOINEDTASKS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_JOINEDTASKS_H

#include "runtime/device/cuda/CudaProgram.h"

namespace sluice::cuda {

/// Returns how many tasks of the program's plan, from number `first` on, one
/// launch of sluice_linear_<kind>_<rows> computes: products of the same rows
/// with weights of one kind, none of which needs what another one writes. It is
/// 1 for all other tasks. The plan must have passed checkStepPlan().
size_t joinedTasks(const CudaProgram &program, size_t first);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_JOINEDTASKS_H
