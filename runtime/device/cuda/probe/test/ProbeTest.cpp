//===- ProbeTest.cpp - the probe on the emulator --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/Probe.h"

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/CountingKernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;
using emulator::EmulatedOptions;
using testing::HasSubstr;
using testing::StartsWith;

using ProbeJson = nlohmann::ordered_json;

namespace {

class ProbeTest : public testing::Test {
protected:
  void open(const EmulatedOptions &options = {}, const char *words = "") {
    emulateProbe();
    device = (*openEmulated(options))->open(0).take();
    device->use(readDeviceOptions(words, device->options()).take());
    kernels = KernelLibrary::load(*device, {}).take();
  }
  void TearDown() override {
    kernels.reset();
    keepGivenUp(device);
  }

  /// Returns the error of a probe, and fills `lines`.
  std::string run() {
    lines.clear();
    return runProbe(*device, *kernels, {true},
                    [&](const ProbeJson &line) { lines.push_back(line); })
        .message();
  }

  std::vector<ProbeJson> linesOf(const std::string &part) const {
    std::vector<ProbeJson> some;
    for (const ProbeJson &line : lines)
      if (line["part"] == part)
        some.push_back(line);
    return some;
  }

  /// Expects that a planted mistake in that kernel makes `wrong` lines of the
  /// part fail.
  void expectWrong(const char *kernel, const std::string &part, size_t wrong) {
    SCOPED_TRACE(kernel);
    EmulatedOptions options;
    options.wrongKernel = kernel;
    open(options);
    EXPECT_THAT(run(),
                StartsWith(part + ": " + std::to_string(wrong) + " of "));
    size_t found = 0;
    for (const ProbeJson &line : lines) {
      if (line["part"] != part)
        EXPECT_TRUE(line["holds"]) << line;
      else
        found += !line["holds"];
    }
    EXPECT_EQ(found, wrong);
    EXPECT_EQ(lines.size(), 79u); // All lines are printed nevertheless.
    TearDown();
    device.reset();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<KernelLibrary> kernels;
  std::vector<ProbeJson> lines;
};

} // namespace

TEST_F(ProbeTest, EachLineComesAndHolds) {
  open();
  EXPECT_EQ(run(), "");
  std::set<std::string> cases;
  for (const ProbeJson &line : lines) {
    EXPECT_TRUE(line["holds"]) << line;
    EXPECT_TRUE(cases.insert(line["case"]).second) << line;
  }
  EXPECT_EQ(linesOf("probe: chain").size(), 24u);
  EXPECT_EQ(linesOf("probe: grid barrier").size(), 4u);
  EXPECT_EQ(linesOf("probe: stream").size(), 27u);
  EXPECT_EQ(linesOf("probe: wgmma").size(), 24u);
}

TEST_F(ProbeTest, LinesSayWhatWasMeasured) {
  open();
  EXPECT_EQ(run(), "");
  for (const ProbeJson &line : linesOf("probe: chain")) {
    EXPECT_GE(line["kernelUs"], line["kernelLeastUs"]) << line;
    EXPECT_GT(line["kernelLeastUs"], 0) << line;
    EXPECT_EQ(line["kernels"], 20) << line;
  }
  // The lines are in the order of the switches: plain and default first.
  const ProbeJson last = linesOf("probe: chain").back();
  EXPECT_TRUE(last["dependentLaunch"] && last["largestCarveout"]);
  EXPECT_EQ(last["sharedBytesOfEveryOther"], 75776);
  EXPECT_EQ(last["blocksOfEveryOther"], 4);
  for (const ProbeJson &line : linesOf("probe: grid barrier")) {
    EXPECT_EQ(line["blocks"], 4 * line["blocksPerMultiprocessor"].get<int>());
    EXPECT_GT(line["barrierLeastUs"], 0);
  }
  for (const ProbeJson &line : linesOf("probe: stream")) {
    EXPECT_GT(line["gigabytesPerSecond"], 0);
    EXPECT_GE(line["blocks"].get<int64_t>() *
                  line["bytesOfBlock"].get<int64_t>(),
              line["bytes"].get<int64_t>())
        << line;
  }
  for (const ProbeJson &line : linesOf("probe: wgmma")) {
    EXPECT_TRUE(line["integersAreExact"]) << line;
    EXPECT_EQ(line["elements"], 4 * 64 * 8) << line;
    // The emulator has one order for both instructions.
    EXPECT_EQ(line["unequalToMma"], 0) << line;
  }
}

TEST_F(ProbeTest, OrdersOfThreadsAndBlocksDoNotMatter) {
  EmulatedOptions options;
  options.order = emulator::Order::Descending;
  options.resident = 3;
  open(options);
  EXPECT_EQ(run(), "");
}

TEST_F(ProbeTest, AWrongKernelShows) {
  expectWrong("sluice_probe_row", "probe: chain", 12);
  expectWrong("sluice_probe_fill", "probe: stream", 27);
  expectWrong("sluice_probe_stream_bulk", "probe: stream", 12);
  expectWrong("sluice_probe_wgmma_bf16", "probe: wgmma", 4);
}

TEST_F(ProbeTest, AWrongBarrierShows) {
  EmulatedOptions options;
  options.wrongKernel = "sluice_probe_grid_barrier";
  open(options);
  // The wrong word may be one of the last round, which no block reads any more.
  EXPECT_THAT(run(), HasSubstr("probe: grid barrier: "));
  for (const ProbeJson &line : linesOf("probe: grid barrier"))
    EXPECT_TRUE(!line["holds"] || line["exchangesWords"]) << line;
}

TEST_F(ProbeTest, TheDevicesOptionsStayAsTheyWere) {
  open({}, "no-pdl,carveout=default");
  EXPECT_EQ(run(), "");
  EXPECT_FALSE(device->options().dependentLaunch);
  EXPECT_FALSE(device->options().largestCarveout);
}

TEST_F(ProbeTest, ADeviceThatFailsEndsTheProbeWithWhatItHas) {
  EmulatedOptions options;
  options.failKernel = 1000;
  open(options);
  EXPECT_EQ(run(), "probe: chain: cuGraphLaunch: an illegal memory access was "
                   "encountered");
  ASSERT_EQ(lines.size(), 17u);
  EXPECT_EQ(lines.front()["holds"], true);
  EXPECT_EQ(lines.back().dump(),
            "{\"part\":\"probe: chain\",\"why\":\"cuGraphLaunch: an illegal "
            "memory access was encountered\",\"holds\":false}");
}

TEST_F(ProbeTest, AKernelWithoutAnEndIsNamed) {
  EmulatedOptions options;
  options.endlessKernel = "sluice_probe_wide_row";
  // The kernels before it end within that time on a busy machine, too.
  options.patience = std::chrono::seconds(2);
  open(options, "marks");
  EXPECT_EQ(run(), "probe: chain: kernel 1 of 20 (sluice_probe_wide_row): the "
                   "graph has not ended within 2 s");
  EXPECT_EQ(lines.size(), 17u);
}

TEST_F(ProbeTest, AnotherChipIsNotProbed) {
  EmulatedOptions options;
  options.major = 10;
  options.minor = 3;
  open(options);
  EXPECT_EQ(run(), "");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[3].dump(),
            "{\"part\":\"probe: wgmma\",\"notRun\":\"not run: the probe's "
            "kernels are for sm_90a, this device is sm_103\"}");
}
