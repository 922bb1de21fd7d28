//===- EmulatedDriverTest.cpp - the driver that other tests rely on -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/CountingKernel.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::emulator;

namespace {

constexpr SluiceEmulatedKernel kernels[] = {{"bump", bump}};

/// A kernel with one parameter, a pointer: adds ten to the number there.
void leap(const uint64_t *words) {
  sluice_emulated_wait();
  if (sluice_emulated_thread() == 0)
    *reinterpret_cast<int32_t *>(words[0]) += 10;
}

class EmulatedDriverTest : public testing::Test {
protected:
  void open(EmulatedOptions options = {}) {
    options.program = kernels;
    device = (*openEmulated(options))->open(0).take();
    stream = *device->makeStream();
    event = *device->makeEvent();
    module = *device->load({});
    memory = *device->allocate(64);
  }
  ~EmulatedDriverTest() override {
    device->release(memory);
    device->destroy(event);
    device->destroy(stream);
  }

  Graph bumps(size_t count) {
    KernelNode node;
    node.function = *device->find(module, "bump");
    node.words = {memory};
    std::vector<GraphNode> nodes(count, node);
    return *device->makeGraph(nodes);
  }

  std::unique_ptr<Device> device;
  Stream stream = nullptr;
  Event event = nullptr;
  Module module = nullptr;
  DeviceAddress memory = 0;
};

} // namespace

TEST_F(EmulatedDriverTest, WorkOfAStreamRunsInOrderBesideTheHost) {
  std::atomic<bool> go{false};
  EmulatedOptions options;
  options.beforeKernel = [&](const std::string &) {
    while (!go)
      std::this_thread::yield();
  };
  open(options);
  Graph graph = bumps(3);
  int32_t number = 39, result = 0;
  ASSERT_TRUE(device->copyToDevice(memory, &number, 4, stream).ok());
  ASSERT_TRUE(device->launch(graph, stream).ok());
  ASSERT_TRUE(device->copyToHost(&result, memory, 4, stream).ok());
  EXPECT_TRUE(*device->isDone(event));
  ASSERT_TRUE(device->record(event, stream).ok());
  EXPECT_FALSE(*device->isDone(event));
  go = true;
  ASSERT_TRUE(device->synchronize(stream).ok());
  EXPECT_TRUE(*device->isDone(event));
  EXPECT_EQ(result, 42);
  device->destroy(graph);
}

TEST_F(EmulatedDriverTest, AStreamWaitsForAnothersEvent) {
  open();
  Stream other = *device->makeStream();
  Graph graph = bumps(50);
  int32_t zero = 0, result = 0;
  ASSERT_TRUE(device->copyToDevice(memory, &zero, 4, stream).ok());
  ASSERT_TRUE(device->launch(graph, stream).ok());
  ASSERT_TRUE(device->record(event, stream).ok());
  ASSERT_TRUE(device->wait(other, event).ok());
  ASSERT_TRUE(device->copyToHost(&result, memory, 4, other).ok());
  ASSERT_TRUE(device->synchronize(other).ok());
  EXPECT_EQ(result, 50);
  device->destroy(graph);
  device->destroy(other);
}

/// Kernels of two programs in a process may have the same name.
TEST_F(EmulatedDriverTest, AnImageMayNameATableOfKernels) {
  open();
  constexpr SluiceEmulatedKernel others[] = {{"bump", leap}};
  const SluiceEmulatedImage image = {SLUICE_EMULATED_MAGIC, others, 1};
  Module loaded =
      *device->load({reinterpret_cast<const uint8_t *>(&image), sizeof(image)});
  KernelNode node;
  node.function = *device->find(loaded, "bump");
  node.words = {memory};
  EXPECT_EQ(*device->find(loaded, "leap"), nullptr);
  EXPECT_EQ(*device->find(loaded, "sluice_mark"), nullptr);
  Graph leaps = *device->makeGraph(std::vector<GraphNode>{node});
  Graph graph = bumps(1);
  int32_t number = 5;
  ASSERT_TRUE(device->copyToDevice(memory, &number, 4, stream).ok());
  ASSERT_TRUE(device->launch(leaps, stream).ok());
  ASSERT_TRUE(device->launch(graph, stream).ok());
  ASSERT_TRUE(device->copyToHost(&number, memory, 4, stream).ok());
  ASSERT_TRUE(device->synchronize(stream).ok());
  EXPECT_EQ(number, 16);
  device->destroy(leaps);
  device->destroy(graph);
  device->unload(loaded);
}

TEST_F(EmulatedDriverTest, AFailedKernelBreaksEverythingAfterIt) {
  EmulatedOptions options;
  options.failKernel = 2;
  open(options);
  Graph graph = bumps(3);
  ASSERT_TRUE(device->launch(graph, stream).ok());
  EXPECT_THAT(device->synchronize(stream).message(),
              testing::HasSubstr("illegal memory access"));
  EXPECT_FALSE(device->launch(graph, stream).ok());
  EXPECT_FALSE(device->isDone(event).ok());
  EXPECT_FALSE(device->allocate(1).ok());
  device->destroy(graph);
}

/// A kernel reads mapped memory by the device's address only.
TEST_F(EmulatedDriverTest, TheHostsAddressesAreNotTheDevices) {
  open();
  HostMemory shared = *device->allocateHost(8);
  auto *number = reinterpret_cast<int32_t *>(shared.host);
  *number = 41;
  KernelNode node;
  node.function = *device->find(module, "bump");
  node.words = {shared.device};
  Graph graph = *device->makeGraph(std::vector<GraphNode>{node});
  ASSERT_TRUE(device->launch(graph, stream).ok());
  ASSERT_TRUE(device->synchronize(stream).ok());
  EXPECT_EQ(*number, 42);
  device->destroy(graph);
  int32_t own = 0;
  auto heap = std::make_unique<int32_t>(0);
  for (void *address :
       {static_cast<void *>(shared.host), static_cast<void *>(&own),
        static_cast<void *>(heap.get())}) {
    node.words = {reinterpret_cast<uint64_t>(address)};
    EXPECT_EQ(
        device->makeGraph(std::vector<GraphNode>{node}).status().message(),
        "cuGraphAddKernelNode: bump is given an address of the host's");
  }
  EXPECT_DEATH(
      {
        // This process needs an allocation of its own, since mapped memory is
        // shared with the process that checks it.
        HostMemory other = *device->allocateHost(8);
        other.host[8] = 0;
        device->releaseHost(other);
      },
      "");
  device->releaseHost(shared);
}

/// Captured work is done at each launch of its graph.
TEST_F(EmulatedDriverTest, CapturedWorkIsPartOfAGraph) {
  open();
  const int32_t zero = 0;
  ASSERT_TRUE(device->copyToDevice(memory, &zero, 4, stream).ok());
  ASSERT_TRUE(device->synchronize(stream).ok());
  int32_t host = -1;
  KernelNode kernel;
  kernel.function = *device->find(module, "bump");
  kernel.words = {memory};
  CapturedNode copies = {[&](Stream captured) {
    // A call that waits for work that is not done is refused.
    EXPECT_EQ(device->synchronize(captured).message(),
              "cuStreamSynchronize: operation not permitted when stream is "
              "capturing");
    EXPECT_FALSE(device->record(event, captured).ok());
    EXPECT_FALSE(device->wait(captured, event).ok());
    return device->copyToHost(&host, memory, 4, captured);
  }};
  Graph graph = *device->makeGraph(std::vector<GraphNode>{kernel, copies});
  EXPECT_EQ(host, -1);
  for (int32_t launched = 1; launched <= 2; ++launched) {
    ASSERT_TRUE(device->launch(graph, stream).ok());
    ASSERT_TRUE(device->synchronize(stream).ok());
    EXPECT_EQ(host, launched);
  }
  device->destroy(graph);
  CapturedNode fails = {[](Stream) { return failure("the library is tired"); }};
  EXPECT_EQ(device->makeGraph(std::vector<GraphNode>{fails}).status().message(),
            "the library is tired");
}

TEST_F(EmulatedDriverTest, AThreadEntersTheDeviceFirst) {
  open();
  std::thread([&] {
    EXPECT_THAT(device->allocate(1).status().message(),
                testing::HasSubstr("invalid device context"));
    EXPECT_FALSE(device->record(event, stream).ok());
    EXPECT_FALSE(device->synchronize(stream).ok());
    ASSERT_TRUE(device->enter().ok());
    EXPECT_TRUE(device->record(event, stream).ok());
    EXPECT_TRUE(device->synchronize(stream).ok());
  }).join();
  std::unique_ptr<Device> other = (*openEmulated({}))->open(0).take();
  EXPECT_FALSE(device->synchronize(stream).ok());
  EXPECT_DEATH(device->release(memory), "");
  ASSERT_TRUE(device->enter().ok());
  EXPECT_TRUE(device->synchronize(stream).ok());
}

TEST_F(EmulatedDriverTest, AGraphTakesMemoryOnceItIsThere) {
  EmulatedOptions options;
  options.memoryBytes = 64 + 3 * graphNodeBytes;
  open(options);
  Graph first = bumps(2), second = bumps(2);
  ASSERT_TRUE(device->upload(first, stream).ok());
  ASSERT_TRUE(device->launch(first, stream).ok());
  EXPECT_EQ(device->memory()->freeBytes, graphNodeBytes);
  EXPECT_EQ(device->launch(second, stream).message(),
            "cuGraphLaunch: out of memory");
  EXPECT_EQ(device->upload(second, stream).message(),
            "cuGraphUpload: out of memory");
  ASSERT_TRUE(device->synchronize(stream).ok());
  device->destroy(first);
  EXPECT_TRUE(device->launch(second, stream).ok());
  ASSERT_TRUE(device->synchronize(stream).ok());
  device->destroy(second);
}

TEST_F(EmulatedDriverTest, MemoryIsCountedAndWatched) {
  EmulatedOptions options;
  options.memoryBytes = 1000;
  open(options);
  EXPECT_EQ(device->memory()->freeBytes, 936u);
  EXPECT_EQ(device->allocate(937).status().message(),
            "cuMemAlloc: out of memory");
  DeviceAddress all = *device->allocate(936);
  EXPECT_EQ(all % 256, 0u);
  EXPECT_EQ(*reinterpret_cast<uint8_t *>(all), 0xff);
  device->release(all);
  EXPECT_DEATH(
      {
        DeviceAddress some = *device->allocate(10);
        reinterpret_cast<uint8_t *>(some)[10] = 0;
        device->release(some);
      },
      "");
}
