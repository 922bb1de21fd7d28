//===- Lab.cpp - a device for experiments with kernels --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/bench/Lab.h"

#include <algorithm>
#include <chrono>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::bench;

namespace {

using Clock = std::chrono::steady_clock;

/// The minimum length of a measurement, so that the launch and the wait for its
/// end (some 10 us) do not matter.
constexpr double minSeconds = 2e-3;
constexpr int measurements = 5;
constexpr size_t maxNodes = 2000;

/// For this long the host polls for the end without a pause. The end of longer
/// measurements is known to a thousandth or so, at less cost for the host.
constexpr std::chrono::milliseconds eager{50};

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

Times bench::timesOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front()};
}

Lab::Lab(Device &device, KernelLibrary &kernels)
    : device(device), kernels(kernels) {
  if (!holds(device.enter()))
    return;
  Expected<Stream> made = device.makeStream();
  if (!holds(made.status()))
    return;
  stream = *made;
  Expected<Event> event = device.makeEvent();
  if (holds(event.status()))
    end = *event;
}

Lab::~Lab() {
  clear();
  if (end)
    device.destroy(end);
  if (stream)
    device.destroy(stream);
}

bool Lab::holds(const Status &status) {
  if (first.ok())
    first = status;
  return first.ok();
}

bool Lab::wait(const char *what, const NodeSequence *running) {
  if (!first.ok() || !holds(device.record(end, stream)))
    return false;
  Status status = device.await(end, what, eager);
  const std::string place = running ? running->whereItStands() : "";
  return holds(place.empty() ? status : status.withContext(place));
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
  if (memory)
    fillZeros(memory, bytes);
  return memory;
}

void Lab::fillZeros(DeviceAddress memory, uint64_t bytes) {
  if (first.ok() && holds(device.fill(memory, 0, bytes, stream)))
    wait("filling memory");
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
    wait("a copy to the device");
  return memory;
}

DeviceAddress Lab::repeat(std::span<const uint8_t> pattern, uint64_t bytes) {
  DeviceAddress memory = allocate(bytes);
  if (!memory)
    return 0;
  uint64_t done = std::min<uint64_t>(pattern.size(), bytes);
  holds(device.copyToDevice(memory, pattern.data(), done, stream));
  // Copies what is there to the place after it, whole patterns each time.
  while (first.ok() && done < bytes) {
    uint64_t more = std::min(done, bytes - done);
    holds(device.copyOnDevice(memory + done, memory, more, stream));
    done += more;
  }
  wait("a copy on the device");
  return memory;
}

void Lab::downloadBytes(void *to, DeviceAddress from, uint64_t bytes) {
  if (first.ok() && holds(device.copyToHost(to, from, bytes, stream)))
    wait("a copy to the host");
}

Function Lab::find(const std::string &name, uint32_t sharedBytes) {
  if (!first.ok())
    return nullptr;
  Expected<Function> found = kernels.find(name, sharedBytes);
  return holds(found.status()) ? *found : nullptr;
}

NodeSequence Lab::prepare(std::span<const GraphNode> nodes) {
  if (!first.ok())
    return {};
  Expected<NodeSequence> made =
      NodeSequence::make(device, kernels, {nodes.begin(), nodes.end()});
  return holds(made.status()) ? made.take() : NodeSequence();
}

double Lab::launch(NodeSequence &nodes) {
  if (!first.ok())
    return 0;
  Clock::time_point start = Clock::now();
  if (!holds(nodes.launch(stream)) || !wait("the graph", &nodes))
    return 0;
  return secondsSince(start);
}

void Lab::run(std::span<const GraphNode> nodes) { (void)timeOnce(nodes); }

Times Lab::measure(std::span<const GraphNode> nodes, int repeats) {
  NodeSequence sequence = prepare(nodes);
  (void)launch(sequence); // loads code and fills caches
  std::vector<double> times(static_cast<size_t>(repeats));
  for (double &each : times)
    each = launch(sequence);
  return timesOf(std::move(times));
}

double Lab::time(std::span<const GraphNode> nodes) {
  double estimate = std::max(measure(nodes, 1).median, 1e-6);
  auto rounds =
      static_cast<size_t>(std::clamp(minSeconds / estimate, 1.0, 1e4));
  rounds = std::clamp<size_t>(rounds, 1, maxNodes / nodes.size() + 1);
  std::vector<GraphNode> many;
  for (size_t i = 0; i < rounds; ++i)
    many.insert(many.end(), nodes.begin(), nodes.end());
  return measure(many, measurements).median / static_cast<double>(rounds);
}

double Lab::timeOnce(std::span<const GraphNode> nodes) {
  NodeSequence sequence = prepare(nodes);
  return launch(sequence);
}

double Lab::timeCopy(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  std::vector<double> times;
  for (int i = -1; i < measurements && first.ok(); ++i) {
    constexpr int copies = 8;
    Clock::time_point start = Clock::now();
    for (int each = 0; each < copies; ++each)
      holds(device.copyOnDevice(to, from, bytes, stream));
    wait("copies on the device");
    if (i >= 0)
      times.push_back(secondsSince(start) / copies);
  }
  return first.ok() ? timesOf(std::move(times)).median : 0;
}
