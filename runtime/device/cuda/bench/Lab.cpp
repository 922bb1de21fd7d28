//===- Lab.cpp - a device to try kernels on -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Lab.h"

#include <algorithm>
#include <array>
#include <chrono>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

namespace {

using Clock = std::chrono::steady_clock;

/// A measurement lasts this long at least, so that the launch and the waiting
/// for its end (some 10 us) do not count.
constexpr double leastSeconds = 2e-3;
constexpr int measurements = 5;
constexpr size_t mostNodes = 2000;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

Lab::Lab(Device &device, KernelLibrary &kernels)
    : device(device), kernels(kernels) {
  if (!holds(device.enter()))
    return;
  Expected<Stream> made = device.makeStream();
  if (holds(made.status()))
    stream = *made;
}

Lab::~Lab() {
  clear();
  if (stream)
    device.destroy(stream);
}

bool Lab::holds(const Status &status) {
  if (first.ok())
    first = status;
  return first.ok();
}

void Lab::clear() {
  for (DeviceAddress each : held)
    device.release(each);
  held.clear();
  for (const HostMemory &each : hostHeld)
    device.releaseHost(each);
  hostHeld.clear();
}

DeviceAddress Lab::allocate(uint64_t bytes) {
  if (!first.ok())
    return 0;
  Expected<DeviceAddress> memory = device.allocate(bytes);
  if (!holds(memory.status()))
    return 0;
  held.push_back(*memory);
  return *memory;
}

DeviceAddress Lab::zeros(uint64_t bytes) {
  DeviceAddress memory = allocate(bytes);
  if (memory && holds(device.fill(memory, 0, bytes, stream)))
    holds(device.synchronize(stream));
  return memory;
}

HostMemory Lab::host(uint64_t bytes) {
  if (!first.ok())
    return {};
  Expected<HostMemory> memory = device.allocateHost(bytes);
  if (!holds(memory.status()))
    return {};
  hostHeld.push_back(*memory);
  return *memory;
}

DeviceAddress Lab::uploadBytes(std::span<const std::byte> bytes) {
  DeviceAddress memory = allocate(bytes.size());
  if (memory &&
      holds(device.copyToDevice(memory, bytes.data(), bytes.size(), stream)))
    holds(device.synchronize(stream));
  return memory;
}

DeviceAddress Lab::repeat(std::span<const uint8_t> pattern, uint64_t bytes) {
  DeviceAddress memory = allocate(bytes);
  if (!memory)
    return 0;
  uint64_t done = std::min<uint64_t>(pattern.size(), bytes);
  holds(device.copyToDevice(memory, pattern.data(), done, stream));
  // What is there is copied behind itself: whole patterns each time.
  while (first.ok() && done < bytes) {
    uint64_t more = std::min(done, bytes - done);
    holds(device.copyOnDevice(memory + done, memory, more, stream));
    done += more;
  }
  if (first.ok())
    holds(device.synchronize(stream));
  return memory;
}

void Lab::downloadBytes(void *to, DeviceAddress from, uint64_t bytes) {
  if (first.ok() && holds(device.copyToHost(to, from, bytes, stream)))
    holds(device.synchronize(stream));
}

Function Lab::find(const std::string &name, uint32_t sharedBytes) {
  if (!first.ok())
    return nullptr;
  Expected<Function> found = kernels.find(name, sharedBytes);
  return holds(found.status()) ? *found : nullptr;
}

void Lab::run(std::span<const GraphNode> nodes) {
  if (!first.ok())
    return;
  Expected<Graph> graph = device.makeGraph(nodes);
  if (!holds(graph.status()))
    return;
  if (holds(device.launch(*graph, stream)))
    holds(device.synchronize(stream));
  device.destroy(*graph);
}

double Lab::timeGraph(Graph graph) {
  Clock::time_point start = Clock::now();
  if (!holds(device.launch(graph, stream)) ||
      !holds(device.synchronize(stream)))
    return 0;
  return secondsSince(start);
}

double Lab::time(std::span<const GraphNode> nodes) {
  if (!first.ok())
    return 0;
  Expected<Graph> once = device.makeGraph(nodes);
  if (!holds(once.status()))
    return 0;
  (void)timeGraph(*once); // the first loads code and fills what is cached
  double estimate = std::max(timeGraph(*once), 1e-6);
  device.destroy(*once);
  auto rounds =
      static_cast<size_t>(std::clamp(leastSeconds / estimate, 1.0, 1e4));
  rounds = std::clamp<size_t>(rounds, 1, mostNodes / nodes.size() + 1);
  std::vector<GraphNode> many;
  for (size_t i = 0; i < rounds; ++i)
    many.insert(many.end(), nodes.begin(), nodes.end());
  Expected<Graph> graph = device.makeGraph(many);
  if (!holds(graph.status()))
    return 0;
  std::array<double, measurements> times = {};
  (void)timeGraph(*graph);
  for (double &each : times)
    each = timeGraph(*graph);
  device.destroy(*graph);
  std::sort(times.begin(), times.end());
  return times[measurements / 2] / static_cast<double>(rounds);
}

double Lab::timeOnce(std::span<const GraphNode> nodes) {
  if (!first.ok())
    return 0;
  Expected<Graph> graph = device.makeGraph(nodes);
  if (!holds(graph.status()))
    return 0;
  double seconds = timeGraph(*graph);
  device.destroy(*graph);
  return seconds;
}

double Lab::timeCopy(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  std::array<double, measurements> times = {};
  for (int i = -1; i < measurements && first.ok(); ++i) {
    constexpr int copies = 8;
    Clock::time_point start = Clock::now();
    for (int each = 0; each < copies; ++each)
      holds(device.copyOnDevice(to, from, bytes, stream));
    if (first.ok())
      holds(device.synchronize(stream));
    if (i >= 0)
      times[i] = secondsSince(start) / copies;
  }
  std::sort(times.begin(), times.end());
  return times[measurements / 2];
}
