//===- NodeSequenceTest.cpp - which node fails or does not end ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/NodeSequence.h"

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/CountingKernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::emulator;

namespace {

/// A kernel with one parameter, a pointer: doubles the number there.
void twice(const uint64_t *words) {
  sluice_emulated_wait();
  if (sluice_emulated_thread() == 0)
    *reinterpret_cast<int32_t *>(words[0]) *= 2;
}

constexpr SluiceEmulatedKernel kernels[] = {{"bump", bump}, {"twice", twice}};

class NodeSequenceTest : public testing::Test {
protected:
  void open(const char *words, EmulatedOptions emulated = {}) {
    emulated.program = kernels;
    device = (*openEmulated(emulated))->open(0).take();
    device->use(readDeviceOptions(words, device->options()).take());
    library = KernelLibrary::load(*device, {&byte, 1}).take();
    stream = *device->makeStream();
    memory = *device->allocate(4);
    EXPECT_TRUE(device->fill(memory, 0, 4, stream).ok());
  }
  void TearDown() override {
    made = {};
    if (!device)
      return;
    device->release(memory);
    device->destroy(stream);
    library.reset();
    keepGivenUp(device);
  }

  /// Returns the error of making and launching the nodes bump, twice, bump.
  std::string run(const NodeSequence::Observer &observer = {}) {
    std::vector<GraphNode> nodes;
    for (const char *name : {"bump", "twice", "bump"}) {
      KernelNode node;
      node.function = library->find(name, 0).take();
      node.words = {memory};
      node.name = name;
      nodes.push_back(node);
    }
    Expected<NodeSequence> sequence =
        NodeSequence::make(*device, *library, std::move(nodes));
    if (!sequence)
      return sequence.status().message();
    made = sequence.take();
    if (Status s = made.launch(stream, observer); !s.ok())
      return s.message();
    return device->settle(stream, "the nodes").message();
  }

  int32_t value() {
    int32_t number = -1;
    EXPECT_TRUE(device->copyToHost(&number, memory, 4, stream).ok());
    EXPECT_TRUE(device->synchronize(stream).ok());
    return number;
  }

  uint8_t byte = 0;
  std::unique_ptr<Device> device;
  std::unique_ptr<KernelLibrary> library;
  Stream stream = nullptr;
  DeviceAddress memory = 0;
  NodeSequence made;
};

} // namespace

TEST_F(NodeSequenceTest, EveryWayRunsTheNodesInOrder) {
  for (const char *words : {"", "one-node", "marks", "no-pdl,marks"}) {
    open(words);
    EXPECT_EQ(run(), "") << words;
    EXPECT_EQ(value(), 3) << words;
    EXPECT_EQ(made.whereItStands(), "");
    // In a second launch, marks begin at the first node again.
    EXPECT_TRUE(made.launch(stream).ok());
    EXPECT_EQ(value(), 9) << words;
    TearDown();
    device.reset();
  }
}

TEST_F(NodeSequenceTest, OneNodeIsObservedWhenItHasEnded) {
  open("one-node");
  std::vector<int32_t> seen;
  EXPECT_EQ(run([&](size_t number, const GraphNode &node) -> Status {
              EXPECT_EQ(std::get<KernelNode>(node).name,
                        number == 1 ? "twice" : "bump");
              seen.push_back(value());
              return number == 1 ? failure("that will do") : Status();
            }),
            "that will do");
  EXPECT_EQ(seen, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(made.list().size(), 3u);
}

TEST_F(NodeSequenceTest, AGraphKeepsNoNodes) {
  open("");
  EXPECT_EQ(run([](size_t, const GraphNode &) -> Status {
              return failure("not called");
            }),
            "");
  EXPECT_TRUE(made.list().empty());
}

TEST_F(NodeSequenceTest, AnErrorNamesTheKernelThatIsLaunchedByItself) {
  EmulatedOptions emulated;
  emulated.failKernel = 2;
  open("one-node", emulated);
  EXPECT_EQ(run(), "kernel 2 of 3 (twice): cuGraphLaunch: an illegal memory "
                   "access was encountered");
  TearDown();
  device.reset();
  // In a whole graph the failing node is not known.
  open("", emulated);
  EXPECT_EQ(run(), "cuGraphLaunch: an illegal memory access was encountered");
}

TEST_F(NodeSequenceTest, AKernelWithoutAnEndIsNamed) {
  EmulatedOptions emulated;
  emulated.endlessKernel = "twice";
  emulated.patience = std::chrono::milliseconds(100);
  open("one-node", emulated);
  EXPECT_EQ(run(), "kernel 2 of 3 (twice) has not ended within 0.1 s");
  TearDown();
  device.reset();
  open("marks", emulated);
  EXPECT_EQ(run(), "the nodes has not ended within 0.1 s");
  EXPECT_EQ(made.whereItStands(), "kernel 2 of 3 (twice)");
}

TEST_F(NodeSequenceTest, AWrongKernelIsWrongWhereverItRuns) {
  EmulatedOptions emulated;
  emulated.wrongKernel = "twice";
  open("one-node", emulated);
  std::vector<int32_t> seen;
  EXPECT_EQ(run([&](size_t, const GraphNode &) {
              seen.push_back(value());
              return Status();
            }),
            "");
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(seen[1], 2 ^ 1 << 21);
}

TEST(DeviceOptionsTest, AreReadFromWords) {
  DeviceOptions usual = readDeviceOptions("").take();
  EXPECT_TRUE(usual.dependentLaunch && usual.largestCarveout);
  EXPECT_FALSE(usual.oneTask || usual.oneNode || usual.marks);
  EXPECT_EQ(usual.patience, std::chrono::seconds(60));
  DeviceOptions other =
      readDeviceOptions(
          "no-pdl,carveout=default,one-task,one-node,marks,patience=2.5")
          .take();
  EXPECT_FALSE(other.dependentLaunch || other.largestCarveout);
  EXPECT_TRUE(other.oneTask && other.oneNode && other.marks);
  EXPECT_EQ(other.patience, std::chrono::milliseconds(2500));
  EXPECT_TRUE(
      readDeviceOptions("carveout=default,carveout=max")->largestCarveout);
  for (const char *bad : {"pdl", "no-pdl,,marks", "carveout=", "patience",
                          "carveout=50", "one-node "})
    EXPECT_THAT(readDeviceOptions(bad).status().message(),
                testing::HasSubstr("' is none of no-pdl, carveout=max, "))
        << bad;
  for (const char *bad : {"patience=", "patience=0", "patience=-1",
                          "patience=1s", "patience=nan", "patience=1e9"})
    EXPECT_EQ(readDeviceOptions(bad).status().message(),
              std::string(bad) + " is no number of seconds");
  ::setenv("SLUICE_CUDA_OPTIONS", "fast", 1);
  EXPECT_THAT(deviceOptionsOfEnvironment().status().message(),
              testing::StartsWith("SLUICE_CUDA_OPTIONS: 'fast' is none of"));
  ::setenv("SLUICE_CUDA_OPTIONS", "one-node", 1);
  EXPECT_TRUE(deviceOptionsOfEnvironment()->oneNode);
  ::unsetenv("SLUICE_CUDA_OPTIONS");
  EXPECT_FALSE(deviceOptionsOfEnvironment()->oneNode);
}
