//===- EmulatedDriver.cpp - a driver whose GPU is the emulator ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/emulator/EmulatedMemory.h"
#include "runtime/device/cuda/emulator/EmulatedModule.h"
#include "runtime/device/cuda/emulator/EmulatedStream.h"
#include "runtime/formats/BlockFormat.h"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>

namespace sluice::cuda::emulator {

namespace {

/// The work that has been captured for a node.
using CapturedWork = std::vector<std::function<Status()>>;

struct EmulatedGraph {
  std::vector<std::variant<KernelNode, ProductNode, CapturedWork>> nodes;
  bool isUploaded = false;
};

EmulatedStream *streamOf(Stream stream) {
  return reinterpret_cast<EmulatedStream *>(stream);
}

/// Computes the product as Driver.h defines it, with features in ascending
/// order.
void multiply(const ProductNode &product) {
  auto number = [&](DeviceAddress matrix, int64_t row, int64_t feature) {
    uint16_t bits = reinterpret_cast<const uint16_t *>(
        matrix)[row * product.features + feature];
    return product.isBfloat ? std::bit_cast<float>(uint32_t{bits} << 16)
                            : halfToFloat(bits);
  };
  auto *addend = reinterpret_cast<const float *>(product.addend);
  auto *result = reinterpret_cast<float *>(product.result);
  for (int64_t row = 0; row < product.rowCount; ++row)
    for (int64_t column = 0; column < product.columns; ++column) {
      float sum = 0;
      for (int64_t feature = 0; feature < product.features; ++feature)
        sum += number(product.rows, row, feature) *
               number(product.weight, column, feature);
      const int64_t place = row * product.resultStride + column;
      result[place] = addend ? addend[place] + sum : sum;
    }
}

class EmulatedDevice final : public Device {
public:
  EmulatedDevice(const EmulatedOptions &options, int32_t number)
      : options(options) {
    described.name = "emulator";
    described.identity = "emulated " + std::to_string(number);
    described.major = options.major;
    described.minor = options.minor;
    described.multiprocessors = options.multiprocessors;
    described.sharedBytes = options.sharedBytes;
    described.memoryBytes = options.memoryBytes;
    DeviceOptions usual;
    usual.patience = options.patience;
    use(usual);
    if (options.failDevice >= 0 && options.failDevice != number)
      this->options.failKernel = 0;
    addGenerated(functions, options.program);
  }
  ~EmulatedDevice() override {
    if (!storage.isEmpty() || live != 0)
      std::abort(); // Something was not released.
  }

  const DeviceProperties &properties() const override { return described; }
  Status enter() override {
    current = this;
    return isGivenUp() ? givenUp() : health.status();
  }

  Expected<MemoryState> memory() override {
    SLUICE_RETURN_IF_ERROR(here());
    return MemoryState{storage.freeBytes(), options.memoryBytes};
  }
  Expected<DeviceAddress> allocate(uint64_t bytes) override;
  void release(DeviceAddress memory) override;
  Expected<HostMemory> allocateHost(uint64_t bytes) override;
  void releaseHost(const HostMemory &memory) override {
    if (isGivenUp())
      return;
    expectHere();
    storage.releaseHost(memory);
  }

  Status copyToDevice(DeviceAddress to, const void *from, uint64_t bytes,
                      Stream stream) override {
    return move(CopyKind::ToDevice, pointer(to), from, bytes, stream);
  }
  Status copyToHost(void *to, DeviceAddress from, uint64_t bytes,
                    Stream stream) override {
    return move(CopyKind::ToHost, to, pointer(from), bytes, stream);
  }
  Status copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes,
                      Stream stream) override {
    return move(CopyKind::OnDevice, pointer(to), pointer(from), bytes, stream);
  }
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes,
              Stream stream) override {
    return add(stream, [=] {
      std::memset(pointer(to), value, bytes);
      return Status();
    });
  }

  Expected<Stream> makeStream(bool) override {
    SLUICE_RETURN_IF_ERROR(here());
    ++live;
    return reinterpret_cast<Stream>(new EmulatedStream(health));
  }
  void destroy(Stream stream) override {
    if (isGivenUp())
      return;
    expectHere();
    --live;
    delete reinterpret_cast<EmulatedStream *>(stream);
  }
  Status synchronize(Stream stream) override {
    SLUICE_RETURN_IF_ERROR(here());
    SLUICE_RETURN_IF_ERROR(refuseCapturing(stream, "cuStreamSynchronize"));
    streamOf(stream)->synchronize();
    return health.status();
  }

  Expected<Event> makeEvent() override {
    SLUICE_RETURN_IF_ERROR(here());
    ++live;
    return reinterpret_cast<Event>(new EmulatedEvent);
  }
  void destroy(Event event) override {
    if (isGivenUp())
      return;
    expectHere();
    --live;
    delete reinterpret_cast<EmulatedEvent *>(event);
  }
  Status record(Event event, Stream stream) override {
    SLUICE_RETURN_IF_ERROR(refuseCapturing(stream, "cuEventRecord"));
    auto *held = reinterpret_cast<EmulatedEvent *>(event);
    uint64_t number = held->record();
    return add(
        stream,
        [=] {
          held->finish(number);
          return Status();
        },
        /*always=*/true);
  }
  Expected<bool> isDone(Event event) override {
    SLUICE_RETURN_IF_ERROR(here());
    bool done = reinterpret_cast<EmulatedEvent *>(event)->isDone();
    SLUICE_RETURN_IF_ERROR(health.status());
    return done;
  }
  Status wait(Stream stream, Event event) override {
    SLUICE_RETURN_IF_ERROR(refuseCapturing(stream, "cuStreamWaitEvent"));
    auto *held = reinterpret_cast<EmulatedEvent *>(event);
    return add(
        stream,
        [held, number = held->last()] {
          held->wait(number);
          return Status();
        },
        /*always=*/true);
  }

  /// One module has all kernels, except those of images that refer to a table.
  Expected<std::vector<Module>> loadKernels() override {
    SLUICE_RETURN_IF_ERROR(here());
    if (options.foreignChip)
      return failure(described.name,
                     ": cuModuleLoadData: no kernel image is available for "
                     "execution on the device");
    return std::vector<Module>{reinterpret_cast<Module>(&functions)};
  }
  Expected<Module> load(std::span<const uint8_t> image) override {
    std::unique_ptr<EmulatedModule> named = loadTable(image);
    if (!named)
      return reinterpret_cast<Module>(&functions);
    ++live;
    return reinterpret_cast<Module>(named.release());
  }
  void unload(Module module) override {
    if (isGivenUp())
      return;
    expectHere();
    auto *held = reinterpret_cast<EmulatedModule *>(module);
    if (held == &functions)
      return;
    --live;
    delete held;
  }
  Expected<Function> find(Module module, const std::string &name) override {
    auto &kernels = *reinterpret_cast<EmulatedModule *>(module);
    auto found = kernels.find(name);
    if (found == kernels.end())
      return static_cast<Function>(nullptr);
    return reinterpret_cast<Function>(&found->second);
  }
  Status allowSharedBytes(Function function, uint32_t bytes) override {
    if (bytes > uint32_t(described.sharedBytes))
      return failure("cuFuncSetAttribute: invalid argument");
    reinterpret_cast<EmulatedFunction *>(function)->sharedBytes = bytes;
    return {};
  }

  Status openProducts() override;
  Expected<Graph> makeGraph(std::span<const GraphNode> nodes) override;
  void destroy(Graph graph) override;
  Status upload(Graph graph, Stream stream) override {
    SLUICE_RETURN_IF_ERROR(refuseCapturing(stream, "cuGraphUpload"));
    return charge(*reinterpret_cast<EmulatedGraph *>(graph), "cuGraphUpload");
  }
  Status launch(Graph graph, Stream stream) override {
    auto *held = reinterpret_cast<EmulatedGraph *>(graph);
    SLUICE_RETURN_IF_ERROR(refuseCapturing(stream, "cuGraphLaunch"));
    SLUICE_RETURN_IF_ERROR(charge(*held, "cuGraphLaunch"));
    if (options.onLaunch)
      options.onLaunch(held->nodes.size());
    return add(stream, [this, held] { return run(*held); });
  }

private:
  template <typename Work>
  Status add(Stream stream, Work work, bool always = false) {
    SLUICE_RETURN_IF_ERROR(here());
    SLUICE_RETURN_IF_ERROR(health.status());
    reinterpret_cast<EmulatedStream *>(stream)->add(work, always);
    return {};
  }
  Status move(CopyKind kind, void *to, const void *from, uint64_t bytes,
              Stream stream) {
    if (options.onCopy)
      options.onCopy(kind, bytes);
    const bool sticks = ++copies == options.stickCopy;
    return add(stream, [=] {
      while (sticks)
        std::this_thread::sleep_for(std::chrono::seconds(1));
      std::memcpy(to, from, bytes);
      return Status();
    });
  }
  /// Returns an error unless the thread has entered the device, and no other
  /// since, and the device has not been given up.
  Status here() const {
    return current == this ? givenUp()
                           : failure("the thread has not entered the device: "
                                     "invalid device context");
  }
  void expectHere() const {
    if (current != this)
      std::abort(); // Released by a thread that is not in the device.
  }

  /// Refuses calls that wait for a stream that is being captured, whose work is
  /// not done. Other graphs and events cannot become part of a graph here.
  static Status refuseCapturing(Stream stream, const char *call) {
    return streamOf(stream)->isCapturing()
               ? failure(call, ": operation not permitted when stream is "
                               "capturing")
               : Status();
  }

  Expected<CapturedWork> capture(const CapturedNode &node);
  Status run(const EmulatedGraph &graph);
  Status runKernel(const KernelNode &node, bool isFirst);
  Status charge(EmulatedGraph &graph, const char *call);
  Status checkNode(const KernelNode &node);

  static thread_local const EmulatedDevice *current;

  EmulatedOptions options;
  DeviceProperties described;
  DeviceHealth health;
  /// All kernels, except those of images that refer to a table.
  EmulatedModule functions = runtimeModule();
  EmulatedMemory storage{options};
  std::atomic<bool> hasProducts{false};
  std::atomic<int64_t> kernelsRun{0}, copies{0};
  std::atomic<int64_t> live{0}; ///< other objects that are not yet destroyed
  /// Graphs that still run, or may still run, after the device was given up.
  std::vector<const EmulatedGraph *> kept;
};

thread_local const EmulatedDevice *EmulatedDevice::current = nullptr;

Expected<DeviceAddress> EmulatedDevice::allocate(uint64_t bytes) {
  SLUICE_RETURN_IF_ERROR(here());
  SLUICE_RETURN_IF_ERROR(health.status());
  return storage.allocate(bytes);
}

void EmulatedDevice::release(DeviceAddress memory) {
  if (isGivenUp())
    return;
  expectHere();
  storage.release(memory);
}

Expected<HostMemory> EmulatedDevice::allocateHost(uint64_t bytes) {
  SLUICE_RETURN_IF_ERROR(here());
  SLUICE_RETURN_IF_ERROR(health.status());
  return storage.allocateHost(bytes);
}

Status EmulatedDevice::checkNode(const KernelNode &node) {
  auto *function = reinterpret_cast<EmulatedFunction *>(node.function);
  uint32_t max = std::max(function->sharedBytes, generatedSharedBytes);
  if (node.sharedBytes > max || node.threads == 0 || node.threads > 1024 ||
      node.grid.x == 0 || node.grid.y == 0 || node.grid.z == 0 ||
      node.grid.y > 65535 || node.grid.z > 65535)
    return failure("cuGraphAddKernelNode: invalid argument (", function->name,
                   ")");
  for (uint64_t word : node.words)
    if (options.checksAddresses && storage.isForeign(word))
      return failure("cuGraphAddKernelNode: ", function->name,
                     " is given an address of the host's");
  return {};
}

Status EmulatedDevice::openProducts() {
  SLUICE_RETURN_IF_ERROR(here());
  if (hasProducts.exchange(true) || storage.take(productBytes))
    return {};
  hasProducts = false;
  return failure("cublasLtCreate: out of memory");
}

Expected<Graph> EmulatedDevice::makeGraph(std::span<const GraphNode> nodes) {
  SLUICE_RETURN_IF_ERROR(here());
  for (const GraphNode &node : nodes)
    if (const auto *kernel = std::get_if<KernelNode>(&node))
      SLUICE_RETURN_IF_ERROR(checkNode(*kernel));
  auto made = std::make_unique<EmulatedGraph>();
  for (const GraphNode &node : nodes) {
    if (const auto *kernel = std::get_if<KernelNode>(&node)) {
      made->nodes.emplace_back(*kernel);
    } else if (const auto *product = std::get_if<ProductNode>(&node)) {
      made->nodes.emplace_back(*product);
    } else {
      Expected<CapturedWork> work = capture(std::get<CapturedNode>(node));
      if (!work)
        return work.status();
      made->nodes.emplace_back(work.take());
    }
  }
  ++live;
  return reinterpret_cast<Graph>(made.release());
}

Expected<CapturedWork> EmulatedDevice::capture(const CapturedNode &node) {
  EmulatedStream stream(health);
  stream.beginCapture();
  Status status = node.enqueue(reinterpret_cast<Stream>(&stream));
  CapturedWork work = stream.endCapture();
  if (!status.ok())
    return status;
  return work;
}

Status EmulatedDevice::run(const EmulatedGraph &graph) {
  for (const auto &node : graph.nodes) {
    if (const auto *kernel = std::get_if<KernelNode>(&node)) {
      SLUICE_RETURN_IF_ERROR(runKernel(*kernel, &node == &graph.nodes.front()));
    } else if (const auto *product = std::get_if<ProductNode>(&node)) {
      multiply(*product);
    } else {
      for (const std::function<Status()> &work : std::get<CapturedWork>(node))
        SLUICE_RETURN_IF_ERROR(work());
    }
  }
  return {};
}

void EmulatedDevice::destroy(Graph graph) {
  auto *held = reinterpret_cast<EmulatedGraph *>(graph);
  if (isGivenUp())
    return kept.push_back(held);
  expectHere();
  if (held->isUploaded)
    storage.giveBack(held->nodes.size() * graphNodeBytes);
  --live;
  delete held;
}

/// Takes the graph's memory, unless it has been taken.
Status EmulatedDevice::charge(EmulatedGraph &graph, const char *call) {
  if (!graph.isUploaded && !storage.take(graph.nodes.size() * graphNodeBytes))
    return failure(call, ": out of memory");
  graph.isUploaded = true;
  return {};
}

/// Runs a kernel. `isFirst` says whether it is the first of its graph.
Status EmulatedDevice::runKernel(const KernelNode &node, bool isFirst) {
  auto *function = reinterpret_cast<EmulatedFunction *>(node.function);
  if (options.beforeKernel)
    options.beforeKernel(function->name);
  int64_t number = ++kernelsRun;
  if (number == options.failKernel)
    return failure("cuGraphLaunch: an illegal memory access was encountered");
  const bool canBeWrong = !options.onlyBehindOthers || !isFirst;
  while (number == options.stickKernel ||
         (canBeWrong && function->name == options.endlessKernel))
    std::this_thread::sleep_for(std::chrono::seconds(1));
  LaunchOptions launching;
  launching.grid = {node.grid.x, node.grid.y, node.grid.z};
  launching.threads = node.threads;
  launching.sharedBytes =
      function->generated ? generatedSharedBytes : node.sharedBytes;
  launching.order = options.order;
  launching.seed = options.seed + uint64_t(number);
  launching.resident = function->wholeGrid
                           ? node.grid.x * node.grid.y * node.grid.z
                           : options.resident;
  launching.leftover = options.leftover;
  const bool isWrong = canBeWrong && function->name == options.wrongKernel;
  const auto before = isWrong ? storage.copy() : decltype(storage.copy())();
  Status status =
      emulator::launch(launching, [&] { function->run(node.words.data()); });
  if (isWrong)
    storage.spoil(before);
  return status.withContext(function->name);
}

class EmulatedDriver final : public Driver {
public:
  explicit EmulatedDriver(const EmulatedOptions &options) : options(options) {}
  int32_t deviceCount() const override { return options.devices; }
  int32_t version() const override { return 13000; }
  Expected<std::unique_ptr<Device>> open(int32_t number) override {
    if (number < 0 || number >= options.devices)
      return failure("GPU ", number, " is not here: there are ",
                     options.devices);
    auto device = std::make_unique<EmulatedDevice>(options, number);
    SLUICE_RETURN_IF_ERROR(device->enter());
    return std::unique_ptr<Device>(std::move(device));
  }

private:
  EmulatedOptions options;
};

} // namespace

Expected<std::unique_ptr<Driver>> openEmulated(const EmulatedOptions &options) {
  if (options.devices < 1)
    return failure("no NVIDIA GPU is here");
  return std::unique_ptr<Driver>(std::make_unique<EmulatedDriver>(options));
}

} // namespace sluice::cuda::emulator
