//===- EmulatedModule.h - the kernels of a loaded module ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMODULE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMODULE_H

#include "runtime/device/cuda/emulator/EmulatedKernels.h"

#include <map>
#include <memory>
#include <span>
#include <string>

namespace sluice::cuda::emulator {

struct EmulatedFunction {
  std::string name;
  void (*run)(const uint64_t *words);
  bool generated = false;
  bool wholeGrid = false; ///< all of its blocks are resident together
  uint32_t sharedBytes = generatedSharedBytes;
};

/// The kernels of a module by name.
using EmulatedModule = std::map<std::string, EmulatedFunction>;

/// Returns the runtime's kernels and those of test programs.
EmulatedModule runtimeModule();

/// Adds kernels that the compiler has generated.
void addGenerated(EmulatedModule &module,
                  std::span<const SluiceEmulatedKernel> kernels);

/// Returns the kernels of the table that an image refers to
/// (SluiceEmulatedImage), or null if the image is not of that form.
std::unique_ptr<EmulatedModule> loadTable(std::span<const uint8_t> image);

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMODULE_H
