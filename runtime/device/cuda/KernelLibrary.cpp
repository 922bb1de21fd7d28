//===- KernelLibrary.cpp - kernels by name --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/KernelLibrary.h"

namespace sluice::cuda {

/// The shared memory that every kernel may have by default.
static constexpr uint32_t freeSharedBytes = 48 << 10;

Expected<std::unique_ptr<KernelLibrary>>
KernelLibrary::load(Device &device, std::span<const uint8_t> programImage) {
  std::unique_ptr<KernelLibrary> library(new KernelLibrary(device));
  Expected<std::vector<Module>> modules = device.loadKernels();
  if (!modules)
    return modules.status().withContext("the runtime's kernels");
  library->modules = modules.take();
  if (programImage.empty())
    return library;
  if (Status s = library->add(programImage); !s.ok())
    return s.withContext("the program's kernels");
  return library;
}

Status KernelLibrary::add(std::span<const uint8_t> image) {
  Expected<Module> module = device.load(image);
  if (!module)
    return module.status();
  modules.push_back(*module);
  return {};
}

KernelLibrary::~KernelLibrary() {
  (void)device.enter();
  for (Module module : modules)
    device.unload(module);
}

Expected<Function> KernelLibrary::find(const std::string &name,
                                       uint32_t sharedBytes) {
  Entry &entry = known[name];
  for (size_t i = 0; i < modules.size() && !entry.function; ++i) {
    Expected<Function> found = device.find(modules[i], name);
    if (!found)
      return found.status().withContext(name);
    entry.function = *found;
  }
  if (!entry.function)
    return failure("there is no kernel ", name);
  if (sharedBytes > freeSharedBytes && sharedBytes > entry.sharedBytes) {
    if (Status s = device.allowSharedBytes(entry.function, sharedBytes);
        !s.ok())
      return s.withContext(name);
    entry.sharedBytes = sharedBytes;
  }
  return entry.function;
}

} // namespace sluice::cuda
