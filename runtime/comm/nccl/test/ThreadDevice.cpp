//===- ThreadDevice.cpp - a device whose streams are threads --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/ThreadDevice.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using cuda::emulator::EmulatedEvent;
using cuda::emulator::EmulatedStream;

namespace {

/// The target of a cuda::Event. It is shared, since streams may reach an event
/// after it was destroyed.
using Signal = std::shared_ptr<EmulatedEvent>;

/// The target of a cuda::Graph.
using Work = std::vector<std::function<Status()>>;

Work *workOf(cuda::Graph graph) { return reinterpret_cast<Work *>(graph); }
EmulatedStream *streamOf(cuda::Stream stream) {
  return reinterpret_cast<EmulatedStream *>(stream);
}
Signal *signalOf(cuda::Event event) {
  return reinterpret_cast<Signal *>(event);
}
void *at(cuda::DeviceAddress address) {
  return reinterpret_cast<void *>(address);
}

constexpr std::align_val_t alignment{256};

std::atomic<uint64_t> devices{0};
thread_local std::set<uint64_t> enteredDevices;

} // namespace

ThreadDevice::ThreadDevice(uint64_t memoryBytes) : number(++devices) {
  known.name = "threads";
  known.memoryBytes = memoryBytes;
}

ThreadDevice::~ThreadDevice() {
  // Still used by threads, so it is kept where leak checkers find it.
  static auto *kept = new std::vector<std::set<void *>>;
  static std::mutex guard;
  std::lock_guard lock(guard);
  if (isGivenUp())
    kept->push_back(std::move(holding));
}

Status ThreadDevice::enter() {
  enteredDevices.insert(number);
  return {};
}

void ThreadDevice::stick(std::chrono::nanoseconds patience) {
  cuda::DeviceOptions impatient = options();
  impatient.patience = patience;
  use(impatient);
  isStuck = true;
}

Status ThreadDevice::checkThread() const {
  if (isGivenUp())
    return givenUp();
  return enteredDevices.contains(number)
             ? Status()
             : failure("invalid device context: the thread has not entered it");
}

void ThreadDevice::enqueue(cuda::Stream stream, std::function<void()> work) {
  streamOf(stream)->addOwned([work = std::move(work)] {
    work();
    return Status();
  });
}

void ThreadDevice::breakCopies(const Status &error) {
  std::lock_guard lock(mutex);
  copyError = error;
}

size_t ThreadDevice::held() const {
  std::lock_guard lock(mutex);
  return holding.size();
}

void *ThreadDevice::hold(void *handle) {
  std::lock_guard lock(mutex);
  holding.insert(handle);
  return handle;
}

bool ThreadDevice::drop(void *handle) {
  if (!checkThread().ok())
    return false;
  std::lock_guard lock(mutex);
  return holding.erase(handle) == 1;
}

Expected<cuda::MemoryState> ThreadDevice::memory() {
  SLUICE_RETURN_IF_ERROR(checkThread());
  return cuda::MemoryState{known.memoryBytes, known.memoryBytes};
}

Expected<cuda::DeviceAddress> ThreadDevice::allocate(uint64_t bytes) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  if (bytes > known.memoryBytes)
    return failure("cuMemAlloc: out of memory");
  return reinterpret_cast<cuda::DeviceAddress>(
      hold(::operator new(bytes, alignment)));
}

void ThreadDevice::release(cuda::DeviceAddress memory) {
  if (drop(at(memory)))
    ::operator delete(at(memory), alignment);
}

Expected<cuda::HostMemory> ThreadDevice::allocateHost(uint64_t bytes) {
  Expected<cuda::DeviceAddress> memory = allocate(bytes);
  if (!memory)
    return memory.status();
  return cuda::HostMemory{static_cast<uint8_t *>(at(*memory)), *memory, bytes};
}

void ThreadDevice::releaseHost(const cuda::HostMemory &memory) {
  release(memory.device);
}

Status ThreadDevice::copy(void *to, const void *from, uint64_t bytes,
                          cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  {
    std::lock_guard lock(mutex);
    if (!copyError.ok())
      return copyError;
  }
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return {};
}

// The host's memory counts as pageable, so the call waits.
Status ThreadDevice::copyToDevice(cuda::DeviceAddress to, const void *from,
                                  uint64_t bytes, cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(copy(at(to), from, bytes, stream));
  return synchronize(stream);
}

Status ThreadDevice::copyToHost(void *to, cuda::DeviceAddress from,
                                uint64_t bytes, cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(copy(to, at(from), bytes, stream));
  return synchronize(stream);
}

Status ThreadDevice::copyOnDevice(cuda::DeviceAddress to,
                                  cuda::DeviceAddress from, uint64_t bytes,
                                  cuda::Stream stream) {
  return copy(at(to), at(from), bytes, stream);
}

Status ThreadDevice::fill(cuda::DeviceAddress to, uint8_t value, uint64_t bytes,
                          cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  enqueue(stream, [=] { std::memset(at(to), value, bytes); });
  return {};
}

Expected<cuda::Stream> ThreadDevice::makeStream(bool) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  auto *made = new EmulatedStream(health);
  auto stream = static_cast<cuda::Stream>(hold(made));
  if (isStuck)
    enqueue(stream, [] {
      while (true)
        std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  return stream;
}

void ThreadDevice::destroy(cuda::Stream stream) {
  if (streamOf(stream)->isIdle() && drop(stream))
    delete streamOf(stream);
}

Status ThreadDevice::synchronize(cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  streamOf(stream)->synchronize();
  return {};
}

Expected<cuda::Event> ThreadDevice::makeEvent() {
  SLUICE_RETURN_IF_ERROR(checkThread());
  return static_cast<cuda::Event>(
      hold(new Signal(std::make_shared<EmulatedEvent>())));
}

void ThreadDevice::destroy(cuda::Event event) {
  if (drop(event))
    delete signalOf(event);
}

Status ThreadDevice::record(cuda::Event event, cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  const Signal signal = *signalOf(event);
  enqueue(stream,
          [signal, number = signal->record()] { signal->finish(number); });
  return {};
}

Expected<bool> ThreadDevice::isDone(cuda::Event event) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  return (*signalOf(event))->isDone();
}

Status ThreadDevice::wait(cuda::Stream stream, cuda::Event event) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  const Signal signal = *signalOf(event);
  enqueue(stream, [signal, number = signal->last()] { signal->wait(number); });
  return {};
}

static Status noKernels() { return failure("this device has no kernels"); }

Expected<std::vector<cuda::Module>> ThreadDevice::loadKernels() {
  return noKernels();
}
Expected<cuda::Module> ThreadDevice::load(std::span<const uint8_t>) {
  return noKernels();
}
Expected<cuda::Function> ThreadDevice::find(cuda::Module, const std::string &) {
  return noKernels();
}
Status ThreadDevice::allowSharedBytes(cuda::Function, uint32_t) {
  return noKernels();
}
Status ThreadDevice::openProducts() { return noKernels(); }

Expected<cuda::Graph>
ThreadDevice::makeGraph(std::span<const cuda::GraphNode> nodes) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  EmulatedStream stream(health);
  stream.beginCapture();
  Status status;
  for (const cuda::GraphNode &node : nodes) {
    const auto *captured = std::get_if<cuda::CapturedNode>(&node);
    if (status.ok())
      status = captured ? captured->enqueue(reinterpret_cast<cuda::Stream>(
                              static_cast<void *>(&stream)))
                        : noKernels();
  }
  Work work = stream.endCapture();
  if (!status.ok())
    return status;
  return static_cast<cuda::Graph>(hold(new Work(std::move(work))));
}

void ThreadDevice::destroy(cuda::Graph graph) {
  if (drop(graph))
    delete workOf(graph);
}

Status ThreadDevice::upload(cuda::Graph, cuda::Stream) { return checkThread(); }

Status ThreadDevice::launch(cuda::Graph graph, cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(checkThread());
  for (const std::function<Status()> &each : *workOf(graph))
    streamOf(stream)->addOwned(each);
  return {};
}
