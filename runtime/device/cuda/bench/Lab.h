//===- Lab.h - a device to try kernels on ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Lab lab(*device, *kernels);
//   DeviceAddress x = lab.upload(std::span(values));
//   lab.run(std::array{node});                      // and waits
//   double seconds = lab.time(nodes);               // of one round of them
//   if (!lab.status().ok()) ...
//
// No wait is longer than the device's options allow: then the device is given
// up (Device::giveUp()), with the kernel's name where the options are for
// finding one (DeviceOptions::marks, oneNode).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_BENCH_LAB_H
#define SLUICE_RUNTIME_DEVICE_CUDA_BENCH_LAB_H

#include "runtime/device/cuda/NodeSequence.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace sluice::cuda::bench {

/// Of several measurements, in seconds.
struct Times {
  double median = 0;
  double min = 0;
};
/// Of at least one.
Times timesOf(std::vector<double> seconds);

/// Memory, launches and times on one device, which the thread enters: one Lab
/// at a time. After an error nothing is done any more, and results are zeros;
/// the first error stays. One thread.
class Lab {
public:
  Lab(Device &device, KernelLibrary &kernels);
  ~Lab();

  const Status &status() const { return first; }
  const DeviceProperties &properties() const { return device.properties(); }

  DeviceAddress allocate(uint64_t bytes);
  /// Zeros.
  DeviceAddress zeros(uint64_t bytes);
  /// Makes zeros of memory that is there.
  void fillZeros(DeviceAddress memory, uint64_t bytes);
  template <typename T> DeviceAddress upload(std::span<const T> values) {
    return uploadBytes(std::as_bytes(values));
  }
  /// `bytes` bytes, `pattern` again and again.
  DeviceAddress repeat(std::span<const uint8_t> pattern, uint64_t bytes);
  HostMemory host(uint64_t bytes);
  template <typename T> std::vector<T> download(DeviceAddress from, size_t n) {
    std::vector<T> values(n);
    downloadBytes(values.data(), from, n * sizeof(T));
    return values;
  }
  /// Gives back all memory.
  void clear();

  /// A launch of the kernel `name` with its structure of arguments.
  template <typename Arguments>
  KernelNode node(const std::string &name, Extent grid, int32_t threads,
                  int32_t sharedBytes, const Arguments &arguments) {
    static_assert(sizeof(Arguments) % sizeof(uint64_t) == 0);
    KernelNode made;
    made.grid = grid;
    made.threads = static_cast<uint32_t>(threads);
    made.sharedBytes = static_cast<uint32_t>(sharedBytes);
    made.words.resize(sizeof(Arguments) / sizeof(uint64_t));
    made.parameterWords = static_cast<uint32_t>(made.words.size());
    std::memcpy(made.words.data(), &arguments, sizeof(Arguments));
    made.name = name;
    made.function = find(name, made.sharedBytes);
    return made;
  }

  /// Runs the kernels one behind the other, and waits.
  void run(std::span<const GraphNode> nodes);
  /// The kernels as one graph, launched `repeats` times behind a launch that is
  /// left out. In each time are the launch and the notice of its end, some 10
  /// us.
  Times measure(std::span<const GraphNode> nodes, int repeats);
  /// Seconds that one round of the kernels takes among many, launched as a
  /// graph: the median of some measurements. The first is left out.
  double time(std::span<const GraphNode> nodes);
  /// The same of the one time that they run.
  double timeOnce(std::span<const GraphNode> nodes);
  /// Seconds that a copy of `bytes` on the device takes.
  double timeCopy(DeviceAddress to, DeviceAddress from, uint64_t bytes);

private:
  /// Whether there has been no error; keeps the first.
  bool holds(const Status &status);
  DeviceAddress uploadBytes(std::span<const std::byte> bytes);
  void downloadBytes(void *to, DeviceAddress from, uint64_t bytes);
  Function find(const std::string &name, uint32_t sharedBytes);
  /// The kernels, ready to be launched; empty after an error.
  NodeSequence prepare(std::span<const GraphNode> nodes);
  /// Until all that is in the stream is done. Whether there has been no error.
  bool wait(const char *what, const NodeSequence *running = nullptr);
  /// Seconds of one launch.
  double launch(NodeSequence &nodes);

  Device &device;
  KernelLibrary &kernels;
  Stream stream = nullptr;
  Event end = nullptr;
  Status first;
  std::vector<DeviceAddress> held;
  std::vector<HostMemory> hostHeld;
};

} // namespace sluice::cuda::bench

#endif // SLUICE_RUNTIME_DEVICE_CUDA_BENCH_LAB_H
