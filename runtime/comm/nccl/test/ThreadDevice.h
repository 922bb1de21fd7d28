//===- ThreadDevice.h - a device whose streams are threads ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_TEST_THREADDEVICE_H
#define SLUICE_RUNTIME_COMM_NCCL_TEST_THREADDEVICE_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/emulator/EmulatedStream.h"

#include <functional>
#include <mutex>
#include <set>

namespace sluice::comm::test {

/// A device with memory, streams, events and graphs, but without kernels.
/// Device memory is host memory. Each stream is a thread, so work is done late,
/// and streams overtake each other. Counts the handles that it has given out.
/// Like the driver, it refuses threads that have not entered it, also for
/// giving handles back, and does not destroy a stream that has work.
/// Thread-safe.
class ThreadDevice final : public cuda::Device {
public:
  explicit ThreadDevice(uint64_t memoryBytes = uint64_t{1} << 32);
  ~ThreadDevice() override;

  /// Runs `work` in the stream's order.
  static void enqueue(cuda::Stream stream, std::function<void()> work);

  /// From now on, no work in new streams is ever done, and no call waits longer
  /// than `patience` for it.
  void stick(std::chrono::nanoseconds patience);
  /// From now on, copies fail with `error`.
  void breakCopies(const Status &error);
  /// Returns the number of allocations, streams, events and graphs that were
  /// not given back.
  size_t held() const;

  const cuda::DeviceProperties &properties() const override { return known; }
  Status enter() override;
  Expected<cuda::MemoryState> memory() override;
  Expected<cuda::DeviceAddress> allocate(uint64_t bytes) override;
  void release(cuda::DeviceAddress memory) override;
  Expected<cuda::HostMemory> allocateHost(uint64_t bytes) override;
  void releaseHost(const cuda::HostMemory &memory) override;
  Status copyToDevice(cuda::DeviceAddress to, const void *from, uint64_t bytes,
                      cuda::Stream stream) override;
  Status copyToHost(void *to, cuda::DeviceAddress from, uint64_t bytes,
                    cuda::Stream stream) override;
  Status copyOnDevice(cuda::DeviceAddress to, cuda::DeviceAddress from,
                      uint64_t bytes, cuda::Stream stream) override;
  Status fill(cuda::DeviceAddress to, uint8_t value, uint64_t bytes,
              cuda::Stream stream) override;
  Expected<cuda::Stream> makeStream(bool highPriority) override;
  void destroy(cuda::Stream stream) override;
  Status synchronize(cuda::Stream stream) override;
  Expected<cuda::Event> makeEvent() override;
  void destroy(cuda::Event event) override;
  Status record(cuda::Event event, cuda::Stream stream) override;
  Expected<bool> isDone(cuda::Event event) override;
  Status wait(cuda::Stream stream, cuda::Event event) override;

  // It has no kernels, and its graphs consist of captured work alone.
  Expected<std::vector<cuda::Module>> loadKernels() override;
  Expected<cuda::Module> load(std::span<const uint8_t> image) override;
  void unload(cuda::Module) override {}
  Expected<cuda::Function> find(cuda::Module, const std::string &) override;
  Status allowSharedBytes(cuda::Function, uint32_t) override;
  Status openProducts() override;
  Expected<cuda::Graph> makeGraph(std::span<const cuda::GraphNode>) override;
  void destroy(cuda::Graph graph) override;
  Status upload(cuda::Graph, cuda::Stream) override;
  Status launch(cuda::Graph, cuda::Stream) override;

private:
  Status checkThread() const;
  Status copy(void *to, const void *from, uint64_t bytes, cuda::Stream stream);
  void *hold(void *handle);
  bool drop(void *handle);

  const uint64_t number; ///< of this device among all devices
  cuda::DeviceProperties known;
  cuda::emulator::DeviceHealth health; ///< always well
  mutable std::mutex mutex;
  std::set<void *> holding;
  Status copyError;
  std::atomic<bool> isStuck{false};
};

} // namespace sluice::comm::test

#endif // SLUICE_RUNTIME_COMM_NCCL_TEST_THREADDEVICE_H
