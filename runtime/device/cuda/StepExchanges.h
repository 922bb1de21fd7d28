//===- StepExchanges.h - the collectives of a group in a step -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective consists of exchanges and kernels. An exchange moves the bytes
// of all rows that the graph has room for; it is a node that is captured from
// the group's calls. Kernels then process the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H

#include "runtime/device/cuda/StepGraph.h"

namespace sluice::cuda {

/// The operands of a collective, buffers of one kind of records.
struct CollectiveOperands {
  device::RecordKind kind = device::RecordKind::Rows;
  const float *x = nullptr;
  float *y = nullptr;
  float *scratch = nullptr;
};

/// y[row][cols] = the sum of x[row][cols] over the members. Each member
/// receives all parts of its share, adds them up, and sends the sums to the
/// other members. This moves as many bytes as a ring and takes two latencies.
void addAllReduce(StepGraph *graph, const CollectiveOperands &operands,
                  int64_t cols);

/// y[row][cols] = the x[row][partCols] of all members side by side.
void addAllGather(StepGraph *graph, const CollectiveOperands &operands,
                  int64_t partCols, int64_t cols);

/// Appends a broadcast of the incoming rows, rows[row][cols], which only the
/// first member has.
void addBroadcast(StepGraph *graph, const float *rows, int64_t cols);

/// Appends the agreement on which rows live: the first member reads the flags
/// from host memory and broadcasts them. Returns their address on the device, a
/// byte for each row.
DeviceAddress addDecision(StepGraph *graph);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H
