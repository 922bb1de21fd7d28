//===- ProbeKernels.h - the names of the probe's kernels ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEKERNELS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEKERNELS_H

#include "runtime/device/cuda/probe/ProbeABI.h"

/// make(name, Arguments, threads) for each kernel sluice_probe_<name>, whose
/// blocks have `threads` threads.
#define SLUICE_FOR_EACH_PROBE_KERNEL(make)                                     \
  make(empty, RowArguments, rowThreads) make(row, RowArguments, rowThreads)    \
      make(wide_row, RowArguments, rowThreads)                                 \
          make(fill, FillArguments, fillThreads)                               \
              make(stream_loads_4, StreamArguments, loadThreads)               \
                  make(stream_loads_8, StreamArguments, loadThreads)           \
                      make(stream_async_3, StreamArguments, asyncThreads)      \
                          make(stream_async_4, StreamArguments, asyncThreads)  \
                              make(stream_bulk, StreamArguments, bulkThreads)  \
                                  make(grid_barrier, GridBarrierArguments,     \
                                       gridBarrierThreads)                     \
                                      make(wgmma_f16, WgmmaArguments,          \
                                           wgmmaThreads)                       \
                                          make(wgmma_bf16, WgmmaArguments,     \
                                               wgmmaThreads)

#ifndef __CUDACC__
extern "C" {
#define SLUICE_DECLARE_PROBE(name, Arguments, threads)                         \
  void sluice_probe_##name(sluice::cuda::probe::Arguments arguments);
SLUICE_FOR_EACH_PROBE_KERNEL(SLUICE_DECLARE_PROBE)
#undef SLUICE_DECLARE_PROBE
}
#endif

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEKERNELS_H
