//===- Probe.cu - the probe's kernels -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/Chains.cuh"
#include "runtime/device/cuda/probe/GridBarrier.cuh"
#include "runtime/device/cuda/probe/ProbeKernels.h"
#include "runtime/device/cuda/probe/Streams.cuh"
#include "runtime/device/cuda/probe/Wgmma.cuh"

using namespace sluice::cuda;
using namespace sluice::cuda::probe;

extern "C" SLUICE_KERNEL(rowThreads)
    sluice_probe_empty(const RowArguments arguments) {
  launchDependents();
  waitForPrior();
}
extern "C" SLUICE_KERNEL(rowThreads)
    sluice_probe_row(const RowArguments arguments) {
  countRow(arguments);
}
extern "C" SLUICE_KERNEL(rowThreads)
    sluice_probe_wide_row(const RowArguments arguments) {
  countRow(arguments);
}

extern "C" SLUICE_KERNEL(fillThreads)
    sluice_probe_fill(const FillArguments arguments) {
  launchDependents();
  waitForPrior();
  const int64_t stride = int64_t(gridX()) * fillThreads * 4;
  for (int64_t i = (int64_t(blockX()) * fillThreads + threadIndex()) * 4;
       i < arguments.count; i += stride) {
    const auto word = uint32_t(i);
    storeGlobal16(arguments.words + i, {word, word + 1, word + 2, word + 3});
  }
}

extern "C" SLUICE_KERNEL(loadThreads)
    sluice_probe_stream_loads_4(const StreamArguments arguments) {
  streamLoads<4>(arguments);
}
extern "C" SLUICE_KERNEL(loadThreads)
    sluice_probe_stream_loads_8(const StreamArguments arguments) {
  streamLoads<8>(arguments);
}
extern "C" SLUICE_KERNEL(asyncThreads)
    sluice_probe_stream_async_3(const StreamArguments arguments) {
  AsyncStream<3>::run(arguments);
}
extern "C" SLUICE_KERNEL(asyncThreads)
    sluice_probe_stream_async_4(const StreamArguments arguments) {
  AsyncStream<4>::run(arguments);
}
extern "C" SLUICE_KERNEL(bulkThreads)
    sluice_probe_stream_bulk(const StreamArguments arguments) {
  BulkStream::run(arguments);
}

extern "C" SLUICE_KERNEL(gridBarrierThreads)
    sluice_probe_grid_barrier(const GridBarrierArguments arguments) {
  GridBarrier::run(arguments);
}

extern "C" SLUICE_KERNEL(wgmmaThreads)
    sluice_probe_wgmma_f16(const WgmmaArguments arguments) {
  WgmmaTile<false>::run(arguments);
}
extern "C" SLUICE_KERNEL(wgmmaThreads)
    sluice_probe_wgmma_bf16(const WgmmaArguments arguments) {
  WgmmaTile<true>::run(arguments);
}
