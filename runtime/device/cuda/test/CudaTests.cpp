//===- CudaTests.cpp - runs the tests of this folder ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As any program of GoogleTest's; with SLUICE_TEST_DRIVER in the environment
// only the tests of kernels, beside the emulator on a device (KernelCases.h):
//
//   SLUICE_TEST_DRIVER=libcuda   the first GPU that NVIDIA's driver has
//   SLUICE_TEST_DRIVER=emulator  an emulated one (OpenEmulated.cpp has the
//                                variables with which it fails), to test that
//                                path without a GPU
//
// SLUICE_CUDA_OPTIONS says how the device is used (DeviceOptions.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/DeviceOptions.h"
#include "runtime/device/cuda/driver/LibCuda.h"
#include "runtime/device/cuda/test/bed/KernelCases.h"

#include <cstdio>
#include <cstdlib>
#include <gmock/gmock.h>
#include <string>

using namespace sluice;
using namespace sluice::cuda;

static Expected<std::unique_ptr<Device>> openDevice(const std::string &name) {
  if (name != "libcuda" && name != "emulator")
    return failure("SLUICE_TEST_DRIVER: no driver '", name,
                   "', there are libcuda and emulator");
  Expected<std::unique_ptr<Driver>> driver =
      name == "libcuda" ? openLibCuda("libcuda.so.1") : openDriver();
  if (!driver)
    return driver.status();
  Expected<std::unique_ptr<Device>> device = (*driver)->open(0);
  if (!device)
    return device.status();
  DeviceOptions usual = (*device)->options();
  // A GPU's kernels take milliseconds; of an emulated one a test says it.
  if (name == "libcuda")
    usual.patience = std::chrono::seconds(10);
  Expected<DeviceOptions> options = deviceOptionsOfEnvironment(usual);
  if (!options)
    return options.status();
  (*device)->use(*options);
  return device;
}

static int runOn(const std::string &name, int count, char **arguments) {
  Expected<std::unique_ptr<Device>> device = openDevice(name);
  if (!device) {
    std::fprintf(stderr, "SluiceCudaTests: error: %s\n",
                 device.status().message().c_str());
    return 1;
  }
  const int status = runKernelCases(count, arguments, **device);
  if (!(*device)->isGivenUp())
    return status;
  // Its kernel still runs: nothing can be ended in order.
  std::fflush(nullptr);
  std::_Exit(status);
}

int main(int count, char **arguments) {
  if (const char *name = std::getenv("SLUICE_TEST_DRIVER"))
    return runOn(name, count, arguments);
  testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
