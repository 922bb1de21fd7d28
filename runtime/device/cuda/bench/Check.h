//===- Check.h - the device against the emulator --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CHECK_H
#define SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CHECK_H

#include "runtime/device/cuda/bench/Cases.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace sluice::cuda::bench {

/// Runs kernels on `device` and the same ones in the emulator, with the same
/// numbers, and compares what they make. On the device itself each kernel must
/// make the same bits twice, and kernels for other numbers of rows the same
/// bits for the rows that they share. Says of each case what it found:
///
///   {"part": "check", "case": ..., "isEqual": bits, "difference": of the
///    largest magnitude, "isRepeated": bits, "isInvariant": bits, "holds": all}
///
/// Products in f32, what goes into the cache and rows that leave are the same
/// bits. The tensor units round a product's sums in an order that the emulator
/// does not know: there `difference` has a limit. Errors: a case does not hold,
/// the emulator's.
Status
checkKernels(Device &device, KernelLibrary &kernels,
             const std::function<void(const nlohmann::ordered_json &)> &print);

} // namespace sluice::cuda::bench

#endif // SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CHECK_H
