//===- Lab.h - a device for experiments with kernels ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Lab lab(*device, *kernels);
//   DeviceAddress x = lab.upload(std::span(values));
//   lab.run(std::array{node});           // waits for the end
//   double seconds = lab.time(nodes);    // of one round of the nodes
//   if (!lab.status().ok()) ...
//
// No wait is longer than the device's options allow. After that the device is
// given up (Device::giveUp()). The error then names the kernel if the options
// ask for finding one (DeviceOptions::marks, oneNode).
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

/// Statistics of several measurements, in seconds.
struct Times {
  double median = 0;
  double min = 0;
};
/// Returns the statistics of at least one measurement.
Times timesOf(std::vector<double> seconds);

/// Memory, launches and times on one device, which the thread enters; it has
/// one Lab at a time. After an error all calls do nothing and return zeros; the
/// first error is kept. Used by one thread.
class Lab {
public:
  Lab(Device &device, KernelLibrary &kernels);
  ~Lab();

  const Status &status() const { return first; }
  const DeviceProperties &properties() const { return device.properties(); }

  DeviceAddress allocate(uint64_t bytes);
  /// Allocates memory that is filled with zeros.
  DeviceAddress zeros(uint64_t bytes);
  /// Fills existing memory with zeros.
  void fillZeros(DeviceAddress memory, uint64_t bytes);
  template <typename T> DeviceAddress upload(std::span<const T> values) {
    return uploadBytes(std::as_bytes(values));
  }
  /// Uploads `bytes` bytes of repeated `pattern`.
  DeviceAddress repeat(std::span<const uint8_t> pattern, uint64_t bytes);
  HostMemory host(uint64_t bytes);
  template <typename T> std::vector<T> download(DeviceAddress from, size_t n) {
    std::vector<T> values(n);
    downloadBytes(values.data(), from, n * sizeof(T));
    return values;
  }
  /// Releases all memory.
  void clear();

  /// Returns a launch of the kernel `name` with its structure of arguments.
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

  /// Runs the kernels one after the other, and waits for their end.
  void run(std::span<const GraphNode> nodes);
  /// Launches the kernels as one graph, `repeats` times after a first launch
  /// that is not measured. Each time includes the launch and the notice of its
  /// end, some 10 us.
  Times measure(std::span<const GraphNode> nodes, int repeats);
  /// Returns the seconds of one round of the kernels among many, launched as a
  /// graph: the median of several measurements, of which the first is left out.
  double time(std::span<const GraphNode> nodes);
  /// Like time(), for kernels that can run only once.
  double timeOnce(std::span<const GraphNode> nodes);
  /// Returns the seconds of a copy of `bytes` on the device.
  double timeCopy(DeviceAddress to, DeviceAddress from, uint64_t bytes);

private:
  /// Returns whether there has been no error; keeps the first one.
  bool holds(const Status &status);
  DeviceAddress uploadBytes(std::span<const std::byte> bytes);
  void downloadBytes(void *to, DeviceAddress from, uint64_t bytes);
  Function find(const std::string &name, uint32_t sharedBytes);
  /// Returns the kernels, ready for launch; empty after an error.
  NodeSequence prepare(std::span<const GraphNode> nodes);
  /// Waits until all work in the stream is done. Returns whether there has been
  /// no error.
  bool wait(const char *what, const NodeSequence *running = nullptr);
  /// Returns the seconds of one launch.
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
