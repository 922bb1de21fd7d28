//===- AttentionTasks.h - the nodes of caches and attention ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_ATTENTIONTASKS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_ATTENTIONTASKS_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// Appends task `number`, which stores keys and values, and these rotations,
/// of the keys among them or of none.
void appendCache(StepGraph &graph, size_t number,
                 std::span<const device::RowRotation> rotations = {});

/// Appends task `number`, an attention, whose launch does the tail.
void appendAttention(StepGraph &graph, size_t number, const RowTail &tail);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_ATTENTIONTASKS_H
