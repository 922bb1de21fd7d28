//===- Driver.h - what the runtime needs of a CUDA driver -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two things implement this: libcuda (LibCuda.cpp), which is opened at run
// time, and in tests the emulator (emulator/EmulatedDriver.h).
//
//   Expected<std::unique_ptr<Driver>> driver = openDriver();
//   Expected<std::unique_ptr<Device>> device = (*driver)->open(0);
//   Expected<DeviceAddress> memory = (*device)->allocate(bytes);
//   Expected<Graph> graph = (*device)->makeGraph(nodes);
//   (*device)->upload(*graph, stream);
//   (*device)->launch(*graph, stream); (*device)->record(event, stream);
//   while (Expected<bool> done = (*device)->isDone(event)) ...
//
// Handles are the driver's own pointers: a Stream is a CUstream, which is
// NCCL's cudaStream_t. Who makes something destroys it, before the Device;
// destroying reports nothing, since there is nothing that could be done.
//
// Order. Work in one stream runs in order; work in two streams where events say
// so. Nothing waits for the device but synchronize() and what says so.
//
// Threads. Any thread may call after enter(), until it enters another device;
// open() enters as well. Of the threads that use a stream, one at a time may
// call.
//
// Errors are the driver's: the call's name and its own text, "cuMemAlloc: out
// of memory". Once a kernel has failed, every call fails with that error, from
// then on. Of a kernel that does not end a driver says nothing, and much of it
// waits: who has waited longer than options().patience gives the device up.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/driver/DeviceOptions.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace sluice::cuda {

/// A CUdeviceptr. Memory of the host that is mapped has one, too.
using DeviceAddress = uint64_t;

using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *; ///< instantiated

struct DeviceProperties {
  std::string name;
  std::string identity; ///< the same for each process that has this GPU
  int32_t major = 0;    ///< of the compute capability
  int32_t minor = 0;
  int32_t multiprocessors = 0;
  int32_t sharedBytes = 0; ///< most that a block can have
  uint64_t memoryBytes = 0;
  uint64_t kernelBytes = 0; ///< at most, of the runtime's kernels' code
};

struct MemoryState {
  uint64_t freeBytes = 0;
  uint64_t totalBytes = 0;
};

/// Page-locked memory of the host, for copies that do not wait; the device can
/// read and write it at `device`, where it lies for all of the process.
struct HostMemory {
  uint8_t *host = nullptr;
  DeviceAddress device = 0;
  uint64_t bytes = 0;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Extent &) const = default;
};

/// A kernel in a graph, and its arguments: parameters of `parameterWords` words
/// each, one after the other (one structure, or words by themselves).
struct KernelNode {
  Function function = nullptr;
  Extent grid;
  uint32_t threads = 32; ///< of a block: (threads, 1, 1)
  uint32_t sharedBytes = 0;
  std::vector<uint64_t> words;
  uint32_t parameterWords = 1;
  std::string name = {}; ///< for errors
};

/// A product of matrices in a graph, by NVIDIA's library (cuBLASLt): of 16-bit
/// numbers with f32 sums, in an order that the library chooses by the shape.
///   result[row][column] = addend[row][column] + rows[row] . weight[column]
struct ProductNode {
  DeviceAddress weight = 0; ///< [columns][features], f16 or bf16
  DeviceAddress rows = 0;   ///< [rowCount][features], the same
  DeviceAddress addend = 0; ///< 0, or f32 as result; may be result
  DeviceAddress result = 0; ///< f32, rows resultStride numbers apart
  int64_t rowCount = 0;
  int64_t columns = 0;
  int64_t features = 0;
  int64_t resultStride = 0;
  bool isBfloat = false;
  DeviceAddress workspace = 0; ///< of this product alone while it runs
  uint64_t workspaceBytes = 0;
};

/// What a library puts into a stream: it becomes a graph within the graph.
/// Called once, when the graph is made, with a stream that keeps its work
/// instead of doing it. All of the work is in it when the call returns; it may
/// be nothing that waits for the stream.
struct CapturedNode {
  std::function<Status(Stream stream)> enqueue;
};

using GraphNode = std::variant<KernelNode, ProductNode, CapturedNode>;

/// Names of nodes that are no kernels: the library's product, and what is
/// captured, which is an exchange of a group.
inline constexpr char productNodeName[] = "cublasLtMatmul";
inline constexpr char exchangeNodeName[] = "exchange";

/// What a node is called: the kernel, or one of these.
inline std::string nodeName(const GraphNode &node) {
  if (const auto *kernel = std::get_if<KernelNode>(&node))
    return kernel->name;
  return std::holds_alternative<ProductNode>(node) ? productNodeName
                                                   : exchangeNodeName;
}

/// One GPU, in its primary context.
class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceProperties &properties() const = 0;

  /// How the device is used. use() is for graphs that are made, and waits that
  /// begin, after it; not while another thread uses the device.
  const DeviceOptions &options() const { return chosen; }
  void use(const DeviceOptions &options) { chosen = options; }

  /// For good: something runs on the device that does not end. From now on
  /// nothing is given back, since a driver would wait and memory is still
  /// written to, and everything else fails with the first `reason`, at once.
  /// The process cannot end in order any more; see anyGivenUp(). Whoever gives
  /// it up keeps it until then. Thread-safe, also for threads that have not
  /// entered.
  void giveUp(const Status &reason) {
    std::lock_guard lock(mutex);
    if (isGivenUp())
      return;
    why = reason;
    // Release: who sees it may read `why`, which does not change again.
    abandoned.store(true, std::memory_order_release);
    anyAbandoned = true;
  }
  bool isGivenUp() const { return abandoned.load(std::memory_order_acquire); }
  /// giveUp()'s reason; ok where it has not been called. Thread-safe.
  Status givenUp() const { return isGivenUp() ? why : Status(); }
  /// Whether a device of this process has been given up: neither the driver's
  /// library nor NCCL may be let clean up then, which would wait for it.
  static bool anyGivenUp() { return anyAbandoned; }

  /// Makes the context the calling thread's.
  virtual Status enter() = 0;

  virtual Expected<MemoryState> memory() = 0;
  /// Aligned to 256 bytes; contents are undefined.
  virtual Expected<DeviceAddress> allocate(uint64_t bytes) = 0;
  virtual void release(DeviceAddress memory) = 0;
  virtual Expected<HostMemory> allocateHost(uint64_t bytes) = 0;
  virtual void releaseHost(const HostMemory &memory) = 0;

  /// Asynchronous where the host's memory is a HostMemory; it stays as it is
  /// until the stream has come there.
  virtual Status copyToDevice(DeviceAddress to, const void *from,
                              uint64_t bytes, Stream stream) = 0;
  virtual Status copyToHost(void *to, DeviceAddress from, uint64_t bytes,
                            Stream stream) = 0;
  virtual Status copyOnDevice(DeviceAddress to, DeviceAddress from,
                              uint64_t bytes, Stream stream) = 0;
  virtual Status fill(DeviceAddress to, uint8_t value, uint64_t bytes,
                      Stream stream) = 0;

  /// A stream that does not wait for the default one. Work of higher priority
  /// comes first where the device has to choose.
  virtual Expected<Stream> makeStream(bool highPriority = false) = 0;
  virtual void destroy(Stream stream) = 0;
  /// Waits until all work of the stream is done, however long; who does not
  /// know that it ends calls settle(). Never inside a step.
  virtual Status synchronize(Stream stream) = 0;

  virtual Expected<Event> makeEvent() = 0;
  virtual void destroy(Event event) = 0;
  virtual Status record(Event event, Stream stream) = 0;
  /// Whether all that was in the stream before record() is done; true for an
  /// event that was never recorded. Does not wait.
  virtual Expected<bool> isDone(Event event) = 0;
  /// Waits until the event is done, as long as anything may take: then gives
  /// the device up, since `what` has not ended. For the first `eager` it looks
  /// again and again, for those who want to know when it was done; then every
  /// 50 us or so.
  Status await(Event event, const char *what,
               std::chrono::nanoseconds eager = {}) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::nanoseconds patience = options().patience;
    const Clock::time_point begin = Clock::now();
    while (true) {
      // Before the device is asked: a process that was stopped in between finds
      // the event done.
      const Clock::duration waited = Clock::now() - begin;
      const bool isLate = waited > patience;
      Expected<bool> done = isDone(event);
      if (!done || *done)
        return done.status();
      if (isLate) {
        giveUp(failure(what, " has not ended within ",
                       std::chrono::duration<double>(patience).count(), " s"));
        return givenUp();
      }
      if (waited < eager)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  /// The same for all work of the stream; where the device has no event to
  /// give, however long that takes.
  Status settle(Stream stream, const char *what) {
    Expected<Event> event = makeEvent();
    if (event && record(*event, stream).ok())
      (void)await(*event, what);
    if (event)
      destroy(*event);
    // Says what is wrong, and else returns at once.
    return synchronize(stream);
  }
  /// What comes behind in `stream` waits for the event.
  virtual Status wait(Stream stream, Event event) = 0;

  /// The runtime's own kernels (kernels/Kernels.h). Error: it was built without
  /// them, or none of their code is for this device.
  virtual Expected<std::vector<Module>> loadKernels() = 0;
  /// `image`: a cubin, a fat binary or PTX, which ends with a zero byte;
  /// aligned to 8 bytes. Error: none of its code is for this device.
  virtual Expected<Module> load(std::span<const uint8_t> image) = 0;
  virtual void unload(Module module) = 0;
  /// Nullptr: the module has no kernel of that name.
  virtual Expected<Function> find(Module module, const std::string &name) = 0;
  /// Lets blocks of the kernel have so much dynamic shared memory.
  virtual Status allowSharedBytes(Function function, uint32_t bytes) = 0;

  /// Makes graphs with products possible. Error: the library is not here, or
  /// does not start. What it takes of memory it takes now.
  virtual Status openProducts() = 0;

  /// A graph of kernels, products and captured work, each behind the one
  /// before. Products and captured work start and end as a whole. Kernels
  /// behind kernels: where the chip and the kernel's code have dependent
  /// launches (9.0) and options() allow them, it may start once all blocks of
  /// the one before have called launchDependents(), and waits for its end by
  /// itself (Primitives.cuh's waitForPrior()); else it starts behind that end.
  /// What is in the stream before the graph is done before the first starts.
  /// Errors: also what a captured node says.
  virtual Expected<Graph> makeGraph(std::span<const GraphNode> nodes) = 0;
  virtual void destroy(Graph graph) = 0;
  /// Brings the graph to the device, in the stream's order. It takes memory of
  /// the device's own there, and would do so at its first launch.
  virtual Status upload(Graph graph, Stream stream) = 0;
  virtual Status launch(Graph graph, Stream stream) = 0;

private:
  DeviceOptions chosen;
  std::mutex mutex; ///< guards the first giveUp()
  std::atomic<bool> abandoned{false};
  Status why;
  static inline std::atomic<bool> anyAbandoned{false};
};

class Driver {
public:
  virtual ~Driver() = default;

  /// At least 1.
  virtual int32_t deviceCount() const = 0;
  /// 13000 is CUDA 13.0.
  virtual int32_t version() const = 0;
  virtual Expected<std::unique_ptr<Device>> open(int32_t number) = 0;
};

/// The driver that this program has been built with: libcuda, or the emulator.
/// Errors, one line each: there is no driver, it is too old, there is no
/// device.
Expected<std::unique_ptr<Driver>> openDriver();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H
