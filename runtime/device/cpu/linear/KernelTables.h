//===- KernelTables.h - the kernels of each instruction set ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_KERNELTABLES_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_KERNELTABLES_H

#include "runtime/device/cpu/linear/Linear.h"

namespace sluice::cpu {

// Each table's kernels are compiled with its instruction set enabled, and run
// only on processors that have it.
extern const LinearKernels linearAvx2;
extern const LinearKernels linearAvx512;
extern const LinearKernels linearAvx512Vnni;

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_KERNELTABLES_H
