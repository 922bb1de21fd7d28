//===- TinyGraph.h - the tiny model as a hand-written CUDA program --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model of device/cpu/test/TinyProgram.h for a GPU. Its plan is written by
// hand, and so are its generated kernels, against emulator/EmulatedABI.h.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_TINYGRAPH_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_TINYGRAPH_H

#include "runtime/device/cpu/test/TinyProgram.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/emulator/EmulatedABI.h"

#include <span>

namespace sluice::cuda {

/// Returns a part of the model. `tiny` outlives the program.
CudaProgram tinyGraph(const cpu::TinyProgram &tiny,
                      cpu::TinyPart part = cpu::TinyPart::Whole);

/// Returns the kernels that the compiler would have generated.
std::span<const SluiceEmulatedKernel> tinyKernels();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_TINYGRAPH_H
