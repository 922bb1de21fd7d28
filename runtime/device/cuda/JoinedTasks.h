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
/// launch computes: products of the same rows with weights of one kind, none of
/// which needs what another one writes (sluice_linear_<kind>_<rows>); or a loop
/// that rotates keys, and perhaps queries, with the append of those keys
/// (sluice_append_cache). It is 1 for all other tasks. The plan must have
/// passed checkStepPlan().
size_t joinedTasks(const CudaProgram &program, size_t first);

/// Returns how many tasks, from number `next` on, the launch of task `first`
/// can do as its tail (kernels/KernelABI.h) in a graph for one row: norms, and
/// operands of products. Only products and attention have tails.
size_t tailTasks(const CudaProgram &program, size_t first, size_t next);

/// Returns what a task of a tail does; nothing for tasks that cannot be in one.
std::vector<device::RowNorm> tailNorms(const device::StepTask &task);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_JOINEDTASKS_H
