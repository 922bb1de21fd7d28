//===- CudaTests.cpp - runs the tests of this folder ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs like any GoogleTest program. With SLUICE_TEST_DRIVER in the environment
// it runs only the tests of kernels, in the emulator and on a device
// (KernelCases.h):
//
//   SLUICE_TEST_DRIVER=libcuda   the first GPU that NVIDIA's driver has
//   SLUICE_TEST_DRIVER=emulator  an emulated GPU, to test that path without a
//                                GPU (OpenEmulated.cpp has variables that make
//                                it fail)
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
  // Kernels of a GPU take milliseconds; for an emulated one the test sets the
  // patience.
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
  // Its kernel still runs, so the process cannot end in the normal way.
  std::fflush(nullptr);
  std::_Exit(status);
}

int main(int count, char **arguments) {
  if (const char *name = std::getenv("SLUICE_TEST_DRIVER"))
    return runOn(name, count, arguments);
  testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
