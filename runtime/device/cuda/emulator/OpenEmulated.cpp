//===- OpenEmulated.cpp - the driver of executables for tests -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the library sluice_runtime_emulated, this file takes the place of
// driver/OpenDriver.cpp in sluice_runtime. Tests control it by environment
// variables:
//
//   SLUICE_EMULATED_DEVICES=0       there is no device
//   SLUICE_EMULATED_MEMORY=N        bytes of device memory
//   SLUICE_EMULATED_FAIL_KERNEL=N   the N-th kernel breaks the device
//   SLUICE_EMULATED_STICK_KERNEL=N  the N-th kernel never ends
//   SLUICE_EMULATED_ENDLESS=NAME    kernels of this name never end
//   SLUICE_EMULATED_WRONG=NAME      kernels of this name write a wrong number
//   SLUICE_EMULATED_RACE=1          the last two hold only for kernels after
//                                   another node of their graph
//   SLUICE_EMULATED_PATIENCE_MS=N   how long a step may take
//   SLUICE_EMULATED_FAIL_DEVICE=N   only device N fails
//   SLUICE_EMULATED_ORDER=1         threads and blocks run in descending order;
//                                   2: in shuffled order
//   SLUICE_EMULATED_RESIDENT=N      blocks that are resident together
//   SLUICE_EMULATED_LEFTOVER=N      value of each byte of memory before it is
//                                   written
//   SLUICE_EMULATED_FOREIGN=1       no code is for the device's chip
//   SLUICE_EMULATED_COUNT=1         the process ends by saying how many bytes
//                                   were copied to the host, and how many nodes
//                                   the launched graphs had
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedDriver.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

using namespace sluice::cuda;

/// Returns the number in the variable, or `otherwise` if it is not set.
static int64_t numberOf(const char *variable, int64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

static std::string textOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

static std::atomic<uint64_t> bytesToHost{0}, nodesLaunched{0};

static void countWork(emulator::EmulatedOptions &options) {
  options.onCopy = [](emulator::CopyKind kind, uint64_t bytes) {
    if (kind == emulator::CopyKind::ToHost)
      bytesToHost += bytes;
  };
  options.onLaunch = [](uint64_t nodes) { nodesLaunched += nodes; };
  std::atexit([] {
    std::fprintf(stderr,
                 "emulator: %llu bytes were copied to the host\n"
                 "emulator: graphs of %llu nodes were launched\n",
                 static_cast<unsigned long long>(bytesToHost.load()),
                 static_cast<unsigned long long>(nodesLaunched.load()));
  });
}

sluice::Expected<std::unique_ptr<Driver>> sluice::cuda::openDriver() {
  emulator::EmulatedOptions options;
  options.devices =
      int32_t(numberOf("SLUICE_EMULATED_DEVICES", options.devices));
  options.memoryBytes = uint64_t(
      numberOf("SLUICE_EMULATED_MEMORY", int64_t(options.memoryBytes)));
  options.failKernel =
      numberOf("SLUICE_EMULATED_FAIL_KERNEL", options.failKernel);
  options.stickKernel = numberOf("SLUICE_EMULATED_STICK_KERNEL", 0);
  options.endlessKernel = textOf("SLUICE_EMULATED_ENDLESS");
  options.wrongKernel = textOf("SLUICE_EMULATED_WRONG");
  options.onlyBehindOthers = numberOf("SLUICE_EMULATED_RACE", 0) != 0;
  options.patience =
      std::chrono::milliseconds(numberOf("SLUICE_EMULATED_PATIENCE_MS", 60000));
  options.failDevice =
      int32_t(numberOf("SLUICE_EMULATED_FAIL_DEVICE", options.failDevice));
  options.order = static_cast<emulator::Order>(
      std::clamp<int64_t>(numberOf("SLUICE_EMULATED_ORDER", 0), 0, 2));
  options.resident =
      uint32_t(numberOf("SLUICE_EMULATED_RESIDENT", options.resident));
  options.leftover =
      uint8_t(numberOf("SLUICE_EMULATED_LEFTOVER", options.leftover));
  options.foreignChip = numberOf("SLUICE_EMULATED_FOREIGN", 0) != 0;
  if (numberOf("SLUICE_EMULATED_COUNT", 0) != 0)
    countWork(options);
  return emulator::openEmulated(options);
}
