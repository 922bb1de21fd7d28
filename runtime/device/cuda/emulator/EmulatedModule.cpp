//===- EmulatedModule.cpp - the kernels of a loaded module ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedModule.h"

namespace sluice::cuda::emulator {

EmulatedModule runtimeModule() {
  EmulatedModule module;
  for (const SluiceEmulatedKernel &kernel : runtimeKernels())
    module[kernel.name] = {kernel.name, kernel.run};
  for (const TestKernel &kernel : testKernels())
    module[kernel.name] = {kernel.name, kernel.run, false, kernel.wholeGrid};
  return module;
}

void addGenerated(EmulatedModule &module,
                  std::span<const SluiceEmulatedKernel> kernels) {
  for (const SluiceEmulatedKernel &kernel : kernels)
    module[kernel.name] = {kernel.name, kernel.run, true};
}

std::unique_ptr<EmulatedModule> loadTable(std::span<const uint8_t> image) {
  const auto *named =
      reinterpret_cast<const SluiceEmulatedImage *>(image.data());
  if (image.size() != sizeof(*named) || named->magic != SLUICE_EMULATED_MAGIC)
    return nullptr;
  auto module = std::make_unique<EmulatedModule>();
  addGenerated(*module, {named->kernels, named->count});
  return module;
}

} // namespace sluice::cuda::emulator
