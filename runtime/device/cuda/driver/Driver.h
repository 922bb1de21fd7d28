//===- Driver.h - the interface to a CUDA driver --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are two implementations: libcuda (LibCuda.cpp), which is opened at run
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
// NCCL's cudaStream_t. The creator of an object destroys it, before the Device.
// Destroying reports no errors, since a caller could do nothing about them.
//
// Order. Work in one stream runs in order; work in two streams is ordered only
// by events. No call waits for the device, except synchronize() and those that
// say so.
//
// Threads. Any thread may call a device after enter(), until it enters another
// device; open() enters as well. Only one thread at a time may use a stream.
//
// Errors are the driver's: the name of the call and its text, such as
// "cuMemAlloc: out of memory". Once a kernel has failed, every later call fails
// with that error. If a kernel does not end, a driver reports nothing, and many
// of its calls wait. A caller that has waited longer than options().patience
// gives the device up.
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

/// A CUdeviceptr. Mapped host memory has one, too.
using DeviceAddress = uint64_t;

using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *; ///< instantiated

struct DeviceProperties {
  std::string name;
  /// The same in each process that has this GPU.
  std::string identity;
  int32_t major = 0; ///< of the compute capability
  int32_t minor = 0;
  int32_t multiprocessors = 0;
  int32_t sharedBytes = 0; ///< the most that a block can have
  uint64_t memoryBytes = 0;
  /// An upper bound of the code of the runtime's kernels.
  uint64_t kernelBytes = 0;
};

struct MemoryState {
  uint64_t freeBytes = 0;
  uint64_t totalBytes = 0;
};

/// Page-locked host memory, for asynchronous copies. The device can read and
/// write it at `device`, which is the same address in all of the process.
struct HostMemory {
  uint8_t *host = nullptr;
  DeviceAddress device = 0;
  uint64_t bytes = 0;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Extent &) const = default;
};

/// A kernel in a graph and its arguments. Each parameter has `parameterWords`
/// words, and the parameters follow each other in `words`: one structure, or
/// single words.
struct KernelNode {
  Function function = nullptr;
  Extent grid;
  uint32_t threads = 32; ///< threads of a block: (threads, 1, 1)
  uint32_t sharedBytes = 0;
  std::vector<uint64_t> words;
  uint32_t parameterWords = 1;
  std::string name = {}; ///< for errors
};

/// A matrix product in a graph, by cuBLASLt, of 16-bit numbers with f32 sums.
/// The library chooses the order of the sums by the shape.
///   result[row][column] = addend[row][column] + rows[row] . weight[column]
struct ProductNode {
  DeviceAddress weight = 0; ///< [columns][features], f16 or bf16
  /// [rowCount][features], of the weight's type.
  DeviceAddress rows = 0;
  /// 0, or f32 of the shape of result; may be result.
  DeviceAddress addend = 0;
  DeviceAddress result = 0; ///< f32, rows resultStride numbers apart
  int64_t rowCount = 0;
  int64_t columns = 0;
  int64_t features = 0;
  int64_t resultStride = 0;
  bool isBfloat = false;
  /// Belongs to this product alone while it runs.
  DeviceAddress workspace = 0;
  uint64_t workspaceBytes = 0;
};

/// Work that a library puts into a stream; it becomes a graph within the graph.
/// `enqueue` is called once, when the graph is made, with a stream that
/// captures its work. All of the work must be in the stream when the call
/// returns, and none of it may wait for the stream.
struct CapturedNode {
  std::function<Status(Stream stream)> enqueue;
};

using GraphNode = std::variant<KernelNode, ProductNode, CapturedNode>;

/// The names of nodes that are not kernels: cuBLASLt's product, and captured
/// work, which is an exchange of a group.
inline constexpr char productNodeName[] = "cublasLtMatmul";
inline constexpr char exchangeNodeName[] = "exchange";

/// Returns the name of a node: that of its kernel, or one of the two above.
inline std::string nodeName(const GraphNode &node) {
  if (const auto *kernel = std::get_if<KernelNode>(&node))
    return kernel->name;
  return std::holds_alternative<ProductNode>(node) ? productNodeName
                                                   : exchangeNodeName;
}

/// One GPU in its primary context.
class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceProperties &properties() const = 0;

  /// How the device is used. use() affects graphs that are made, and waits that
  /// begin, after it. Call it only while no other thread uses the device.
  const DeviceOptions &options() const { return chosen; }
  void use(const DeviceOptions &options) { chosen = options; }

  /// Gives the device up for good, because something runs on it that does not
  /// end. From then on no memory or handle is released, since a driver would
  /// wait and the device still writes to memory; all other calls fail at once
  /// with the first `reason`. The process cannot end in the normal way any
  /// more; see anyGivenUp(). The caller keeps the device until the process
  /// ends. Thread-safe, also for threads that have not entered.
  void giveUp(const Status &reason) {
    std::lock_guard lock(mutex);
    if (isGivenUp())
      return;
    why = reason;
    // Release: a thread that sees the flag may read `why`, which does not
    // change again.
    abandoned.store(true, std::memory_order_release);
    anyAbandoned = true;
  }
  bool isGivenUp() const { return abandoned.load(std::memory_order_acquire); }
  /// Returns the reason of giveUp(), or ok if it has not been called.
  /// Thread-safe.
  Status givenUp() const { return isGivenUp() ? why : Status(); }
  /// Returns whether a device of this process has been given up. The cleanup of
  /// the driver's library and of NCCL must then be skipped, since it would wait
  /// for the device.
  static bool anyGivenUp() { return anyAbandoned; }

  /// Makes the context current in the calling thread.
  virtual Status enter() = 0;

  virtual Expected<MemoryState> memory() = 0;
  /// Allocates memory, aligned to 256 bytes, with undefined contents.
  virtual Expected<DeviceAddress> allocate(uint64_t bytes) = 0;
  virtual void release(DeviceAddress memory) = 0;
  virtual Expected<HostMemory> allocateHost(uint64_t bytes) = 0;
  virtual void releaseHost(const HostMemory &memory) = 0;

  /// Asynchronous if the host's memory is a HostMemory, which must then not
  /// change until the stream has executed the copy.
  virtual Status copyToDevice(DeviceAddress to, const void *from,
                              uint64_t bytes, Stream stream) = 0;
  virtual Status copyToHost(void *to, DeviceAddress from, uint64_t bytes,
                            Stream stream) = 0;
  virtual Status copyOnDevice(DeviceAddress to, DeviceAddress from,
                              uint64_t bytes, Stream stream) = 0;
  virtual Status fill(DeviceAddress to, uint8_t value, uint64_t bytes,
                      Stream stream) = 0;

  /// Makes a stream that does not wait for the default one. Work of higher
  /// priority comes first if the device has to choose.
  virtual Expected<Stream> makeStream(bool highPriority = false) = 0;
  virtual void destroy(Stream stream) = 0;
  /// Waits until all work of the stream is done, for as long as that takes. Use
  /// settle() if it may not end. Never call it in a step.
  virtual Status synchronize(Stream stream) = 0;

  virtual Expected<Event> makeEvent() = 0;
  virtual void destroy(Event event) = 0;
  virtual Status record(Event event, Stream stream) = 0;
  /// Returns whether all work that was in the stream before record() is done;
  /// true for an event that was never recorded. Does not wait.
  virtual Expected<bool> isDone(Event event) = 0;
  /// Waits until the event is done. After options().patience it gives the
  /// device up, since `what` has not ended. It polls continuously for the first
  /// `eager`, which lets a caller measure when the event was done, and then
  /// every 50 us or so.
  Status await(Event event, const char *what,
               std::chrono::nanoseconds eager = {}) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::nanoseconds patience = options().patience;
    const Clock::time_point begin = Clock::now();
    while (true) {
      // The time is taken before the device is asked, so that a process that
      // was stopped in between finds the event done.
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
  /// Like await(), but for all work of the stream. If the device has no event
  /// to give, it waits for as long as that takes.
  Status settle(Stream stream, const char *what) {
    Expected<Event> event = makeEvent();
    if (event && record(*event, stream).ok())
      (void)await(*event, what);
    if (event)
      destroy(*event);
    // Reports what is wrong, or returns at once.
    return synchronize(stream);
  }
  /// Makes later work in `stream` wait for the event.
  virtual Status wait(Stream stream, Event event) = 0;

  /// Loads the runtime's own kernels (kernels/Kernels.h). Errors: the runtime
  /// was built without them; none of their code is for this device.
  virtual Expected<std::vector<Module>> loadKernels() = 0;
  /// Loads `image`, a cubin, a fat binary or PTX that ends with a zero byte;
  /// aligned to 8 bytes. Error: none of its code is for this device.
  virtual Expected<Module> load(std::span<const uint8_t> image) = 0;
  virtual void unload(Module module) = 0;
  /// Returns the kernel, or nullptr if the module has none of that name.
  virtual Expected<Function> find(Module module, const std::string &name) = 0;
  /// Allows blocks of the kernel `bytes` of dynamic shared memory.
  virtual Status allowSharedBytes(Function function, uint32_t bytes) = 0;

  /// Opens cuBLASLt, which graphs with products need. The library takes its
  /// memory in this call. Errors: the library does not exist or does not start.
  virtual Status openProducts() = 0;

  /// Makes a graph of kernels, products and captured work, each after the one
  /// before. Products and captured work start and end as a whole. If the chip
  /// and the kernel's code have dependent launches (9.0) and options() allow
  /// them, a kernel after a kernel may start once all blocks of that one have
  /// called launchDependents(), and waits for its end itself (waitForPrior() of
  /// Primitives.cuh); otherwise it starts after that end. All work that is in
  /// the stream before the graph is done before its first node starts. Errors
  /// include those of captured nodes.
  virtual Expected<Graph> makeGraph(std::span<const GraphNode> nodes) = 0;
  virtual void destroy(Graph graph) = 0;
  /// Brings the graph to the device, in the order of the stream. This takes
  /// device memory that would otherwise be taken at the first launch.
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

  /// Returns at least 1.
  virtual int32_t deviceCount() const = 0;
  /// Returns the version, such as 13000 for CUDA 13.0.
  virtual int32_t version() const = 0;
  virtual Expected<std::unique_ptr<Device>> open(int32_t number) = 0;
};

/// Opens the driver that this program was built with: libcuda, or the emulator.
/// Errors, one line each: there is no driver, it is too old, there is no
/// device.
Expected<std::unique_ptr<Driver>> openDriver();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H
