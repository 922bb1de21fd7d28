//===- KernelBed.cpp - runs the kernels of tests --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/KernelBed.h"

#include "runtime/device/cuda/emulator/EmulatedKernels.h"
#include "runtime/device/cuda/test/bed/DeviceBed.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;

Status cuda::emulateKernel(const BedLaunch &launch) {
  auto kernels = emulator::runtimeKernels();
  auto found = std::ranges::find_if(
      kernels, [&](const auto &each) { return each.name == launch.kernel; });
  if (found == kernels.end())
    return failure("the emulator has no kernel ", launch.kernel);
  return emulator::launch(launch.options,
                          [&] { found->run(launch.words.data()); })
      .withContext(launch.kernel);
}

static DeviceBed *current = nullptr;

void cuda::setDeviceBed(DeviceBed *bed) { current = bed; }

Status cuda::launchKernel(const BedLaunch &launch) {
  return current ? current->run(launch) : emulateKernel(launch);
}
