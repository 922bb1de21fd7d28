//===- LateInputs.cpp - checks what kernels do before they wait -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/LateInputs.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

static constexpr uint8_t poison = 0xff;
/// The maximum of bytes that a launch hides and restores.
static constexpr size_t maxHiddenBytes = 8 << 20;

void LateInputs::hide(void *memory, size_t count) {
  if (count == 0)
    return;
  regions.push_back(
      {static_cast<uint8_t *>(memory), std::vector<uint8_t>(count)});
  bytes += count;
}

void LateInputs::begin() {
  expectWaited();
  waited = false;
  if (group++ % every != 0)
    return;
  hidden = true;
  for (Region &region : regions) {
    std::memcpy(region.ready.data(), region.memory, region.ready.size());
    std::memset(region.memory, poison, region.ready.size());
  }
}

void LateInputs::ready() {
  waited = true;
  if (!hidden)
    return;
  hidden = false;
  for (Region &region : regions) {
    size_t size = region.ready.size();
    // All bytes equal the ones before them, and the first is the poison.
    EXPECT_TRUE(region.memory[0] == poison &&
                std::memcmp(region.memory, region.memory + 1, size - 1) == 0)
        << "written before the wait";
    std::memcpy(region.memory, region.ready.data(), size);
  }
}

void LateInputs::expectWaited() {
  if (waited)
    return;
  ADD_FAILURE() << "group " << group << " of blocks has not waited";
  ready();
}

void LateInputs::expect(BedLaunch launch) {
  emulator::LaunchOptions &options = launch.options;
  size_t blocks = size_t{options.grid.x} * options.grid.y * options.grid.z;
  size_t groups = (blocks + options.resident - 1) / options.resident;
  every = 1 + groups * bytes / maxHiddenBytes;
  options.prior = [this](bool isReady) { isReady ? ready() : begin(); };
  Status status = launchKernel(launch);
  if (!status.ok())
    ADD_FAILURE() << status.message();
  expectWaited();
}
