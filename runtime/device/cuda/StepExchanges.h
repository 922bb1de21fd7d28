//===- StepExchanges.h - where a group's members meet in a step -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exchange of bytes is a node that is captured from the group's calls, of
// all rows that the graph has room for; what becomes of the bytes are kernels.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H

#include "runtime/device/cuda/SluiceGraph.h"

namespace sluice::cuda {

/// Values of a domain, as CudaProgramABI.h's functions have them.
struct CollectiveOperands {
  int32_t domain = 0;
  const float *x = nullptr;
  float *y = nullptr;
  float *scratch = nullptr;
};

/// y[row][cols] = the sum over the members of x[row][cols]. Each member gets
/// all parts of its own share, adds them up, and gives the sums to the others:
/// as many bytes as a ring moves, and two latencies.
void addAllReduce(SluiceGraph *graph, const CollectiveOperands &operands,
                  int64_t cols);

/// y[row][cols] = the members' x[row][partCols] side by side.
void addAllGather(SluiceGraph *graph, const CollectiveOperands &operands,
                  int64_t partCols, int64_t cols);

/// Rows that have come in, rows[row][cols], are at the first member alone: it
/// gives them to the others.
void addBroadcast(SluiceGraph *graph, const float *rows, int64_t cols);

/// The first member reads from the host's memory who lives, and tells the
/// others. The address of that on the device: a byte for each row.
DeviceAddress addDecision(SluiceGraph *graph);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEPEXCHANGES_H
