//===- LabTest.cpp - tests of Lab on an emulated device -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Lab.h"

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/CountingKernel.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;
using namespace sluice::cuda::emulator;

namespace {

struct BumpArguments {
  int32_t *number;
};
constexpr SluiceEmulatedKernel kernels[] = {{"bump", bump}, {"stay", bump}};

class LabTest : public testing::Test {
protected:
  void open(EmulatedOptions emulated = {}, const char *words = "") {
    emulated.program = kernels;
    device = (*openEmulated(emulated))->open(0).take();
    device->use(readDeviceOptions(words, device->options()).take());
    library = KernelLibrary::load(*device, {}).take();
  }
  void TearDown() override {
    library.reset();
    keepGivenUp(device);
  }
  static GraphNode node(Lab &lab, const char *name, DeviceAddress number) {
    return lab.node(name, {}, 32, 0,
                    BumpArguments{reinterpret_cast<int32_t *>(number)});
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<KernelLibrary> library;
};

} // namespace

TEST_F(LabTest, MeasuresAsOftenAsItIsAskedTo) {
  open();
  Lab lab(*device, *library);
  const DeviceAddress number = lab.zeros(4);
  const std::vector<GraphNode> nodes(3, node(lab, "bump", number));
  lab.run(nodes);
  EXPECT_EQ(lab.download<int32_t>(number, 1)[0], 3);
  // One more launch is not measured.
  const Times times = lab.measure(nodes, 4);
  EXPECT_EQ(lab.download<int32_t>(number, 1)[0], 3 + 15);
  EXPECT_GT(times.min, 0);
  EXPECT_GE(times.median, times.min);
  lab.fillZeros(number, 4);
  EXPECT_GT(lab.timeOnce(nodes), 0);
  EXPECT_EQ(lab.download<int32_t>(number, 1)[0], 3);
  EXPECT_GT(lab.time(nodes), 0);
  EXPECT_TRUE(lab.status().ok()) << lab.status().message();
}

TEST_F(LabTest, AKernelWithoutAnEndIsNamedAndNothingIsDoneAnyMore) {
  EmulatedOptions emulated;
  emulated.endlessKernel = "stay";
  emulated.patience = std::chrono::milliseconds(100);
  const std::pair<const char *, const char *> ways[] = {
      {"", "the graph has not ended within 0.1 s"},
      {"marks", "kernel 2 of 3 (stay): the graph has not ended within 0.1 s"},
      {"one-node", "kernel 2 of 3 (stay) has not ended within 0.1 s"}};
  for (const auto &[words, message] : ways) {
    open(emulated, words);
    {
      Lab lab(*device, *library);
      const DeviceAddress number = lab.zeros(4);
      const Times times = lab.measure(std::array{node(lab, "bump", number),
                                                 node(lab, "stay", number),
                                                 node(lab, "bump", number)},
                                      2);
      EXPECT_EQ(lab.status().message(), message);
      EXPECT_EQ(times.median, 0);
      EXPECT_EQ(lab.zeros(4), 0u);
      EXPECT_EQ(lab.download<int32_t>(number, 1)[0], 0);
    }
    EXPECT_TRUE(device->isGivenUp());
    TearDown();
  }
  open();
}
