//===- KernelCases.h - tests of kernels on a device -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests of kernels (CMake's SluiceCudaKernelCases) are the same ones in the
// emulator and on a device. A program that is linked with them calls this in
// the place of RUN_ALL_TESTS():
//
//   PROGRAM [--json] [--apart] [--gtest_filter=...] [others of GoogleTest's]
//
// The filter has cases' names as they are printed: what GoogleTest puts before
// a suite's name ("Kinds/") may be left out.
//
// --apart: arrays lie in memory of their own on the device, for a program that
// watches who reads beside them (compute-sanitizer's memcheck).
//
// --json: standard output has one JSON object a line for each case, as soon as
// it has ended, and a last one for all of them; what failed is on standard
// error in GoogleTest's words.
//
//   {"case": "AttentionKernelTest.AgreesWithTheDefinition/f16", "holds": true,
//    "seconds": 0.31, "launches": 24, "equalBits": false, "difference": 2e-5}
//   {"cases": 1, "failed": 0, "skipped": 0, "notRun": 0}
//
// `launches` of kernels on the device, each of which was compared with the
// emulator's; `difference` as Comparison has it, null where that is infinite.
// There may be "tooLarge": launches that the device has too little shared
// memory for, and "why": of a case that does not hold, what it found first. Of
// a case that cannot run here the line is {"case": ..., "skipped": why}. Where
// the device fails no case is run behind that: they are the "notRun" ones, and
// the last line has the device's error as "why".
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H

#include "runtime/device/cuda/driver/Driver.h"

namespace sluice::cuda {

/// Runs the cases that the options choose, and no other tests of the program.
/// `arguments` as main() has them; GoogleTest has not been initialised. Returns
/// the status to exit with: 0 all hold; 1 one does not, none was chosen, or
/// kernels cannot be run; 2 an option is none. The device may have been given
/// up then (Driver.h says what that means).
int runKernelCases(int count, char **arguments, Device &device);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELCASES_H
