//===- KernelCases.h - runs the tests of kernels on a device --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests of kernels (SluiceCudaKernelCases in CMake) are the same in the
// emulator and on a device. A program that is linked with them calls
// runKernelCases() instead of RUN_ALL_TESTS():
//
//   PROGRAM [--json] [--apart] [--gtest_filter=...] [others of GoogleTest's]
//
// The filter uses the names of cases as they are printed: GoogleTest's prefix
// of a suite's name ("Kinds/") may be left out.
//
// With --apart, each array has an allocation of its own on the device, so that
// a tool can find reads outside it (compute-sanitizer's memcheck).
//
// With --json, standard output has one JSON object a line: one for each case,
// as soon as it has ended, and a last one for all of them. GoogleTest's
// messages about failures go to standard error.
//
//   {"case": "AttentionKernelTest.AgreesWithTheDefinition/f16", "holds": true,
//    "seconds": 0.31, "launches": 24, "equalBits": false, "difference": 2e-5}
//   {"cases": 1, "failed": 0, "skipped": 0, "notRun": 0}
//
// `launches` counts launches on the device, each of which was compared with the
// emulator's. `difference` is as in Comparison; null if that is infinite. There
// may be "tooLarge", the number of launches for which the device has too little
// shared memory, and "why", the first failure of a case that does not hold. The
// line of a case that cannot run here is {"case": ..., "skipped": why}. If the
// device fails, the cases after that are not run: they count as "notRun", and
// the last line has the device's error as "why".
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H

#include "runtime/device/cuda/driver/Driver.h"

namespace sluice::cuda {

/// Runs the cases that the options choose, and no other tests of the program.
/// `arguments` are those of main(); GoogleTest must not have been initialised.
/// Returns the exit status: 0 if all cases hold; 1 if one does not, none was
/// chosen, or kernels cannot be run; 2 if an option is invalid. The device may
/// have been given up then (Driver.h says what that means).
int runKernelCases(int count, char **arguments, Device &device);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H
