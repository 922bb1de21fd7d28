//===- LibCudaDevice.cpp - one GPU, through libcuda -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/CublasLt.h"
#include "runtime/device/cuda/driver/FatBinary.h"
#include "runtime/device/cuda/driver/KernelFiles.h"
#include "runtime/device/cuda/driver/LibCuda.h"

#include <cstdlib>

namespace sluice::cuda {

namespace {

/// Makes a call of the library and returns its error. Once the device is given
/// up, the call is not made.
#define SLUICE_CUDA_ASK(call, name)                                            \
  (isGivenUp() ? givenUp() : lib.check(call, name))

/// Makes the call, and returns from the function if it fails.
#define SLUICE_CUDA_TRY(call, name)                                            \
  if (Status s = SLUICE_CUDA_ASK(call, name); !s.ok())                         \
  return s

class LibCudaDevice final : public Device {
public:
  explicit LibCudaDevice(const LibCuda &lib) : lib(lib) {}
  ~LibCudaDevice() override {
    // The library may be called only in the context.
    if (!enter().ok())
      (void)products.release();
    products.reset();
    if (context && !isGivenUp())
      lib.releaseContext(device);
  }

  Status open(int32_t number);

  const DeviceProperties &properties() const override { return described; }
  Status enter() override {
    return SLUICE_CUDA_ASK(lib.setContext(context), "cuCtxSetCurrent");
  }

  Expected<MemoryState> memory() override {
    size_t available = 0, total = 0;
    SLUICE_CUDA_TRY(lib.memoryInfo(&available, &total), "cuMemGetInfo");
    return MemoryState{available, total};
  }
  Expected<DeviceAddress> allocate(uint64_t bytes) override {
    DeviceAddress address = 0;
    SLUICE_CUDA_TRY(lib.allocate(&address, bytes), "cuMemAlloc");
    return address;
  }
  void release(DeviceAddress memory) override {
    if (!isGivenUp())
      lib.release(memory);
  }
  Expected<HostMemory> allocateHost(uint64_t bytes) override;
  void releaseHost(const HostMemory &memory) override {
    if (!isGivenUp())
      lib.releaseHost(memory.host);
  }

  Status copyToDevice(DeviceAddress to, const void *from, uint64_t bytes,
                      Stream stream) override {
    return SLUICE_CUDA_ASK(lib.copyToDevice(to, from, bytes, stream),
                           "cuMemcpyHtoDAsync");
  }
  Status copyToHost(void *to, DeviceAddress from, uint64_t bytes,
                    Stream stream) override {
    return SLUICE_CUDA_ASK(lib.copyToHost(to, from, bytes, stream),
                           "cuMemcpyDtoHAsync");
  }
  Status copyOnDevice(DeviceAddress to, DeviceAddress from, uint64_t bytes,
                      Stream stream) override {
    return SLUICE_CUDA_ASK(lib.copyOnDevice(to, from, bytes, stream),
                           "cuMemcpyDtoDAsync");
  }
  Status fill(DeviceAddress to, uint8_t value, uint64_t bytes,
              Stream stream) override {
    return SLUICE_CUDA_ASK(lib.fill(to, value, bytes, stream),
                           "cuMemsetD8Async");
  }

  Expected<Stream> makeStream(bool highPriority) override;
  void destroy(Stream stream) override {
    if (!isGivenUp())
      lib.destroyStream(stream);
  }
  Status synchronize(Stream stream) override {
    return SLUICE_CUDA_ASK(lib.synchronize(stream), "cuStreamSynchronize");
  }

  Expected<Event> makeEvent() override {
    lib::Handle event = nullptr;
    SLUICE_CUDA_TRY(lib.makeEvent(&event, lib::eventDisableTiming),
                    "cuEventCreate");
    return static_cast<Event>(event);
  }
  void destroy(Event event) override {
    if (!isGivenUp())
      lib.destroyEvent(event);
  }
  Status record(Event event, Stream stream) override {
    return SLUICE_CUDA_ASK(lib.recordEvent(event, stream), "cuEventRecord");
  }
  Expected<bool> isDone(Event event) override {
    int result = isGivenUp() ? lib::success : lib.queryEvent(event);
    if (result == lib::errorNotReady)
      return false;
    SLUICE_CUDA_TRY(result, "cuEventQuery");
    return true;
  }
  Status wait(Stream stream, Event event) override {
    return SLUICE_CUDA_ASK(lib.waitEvent(stream, event, 0),
                           "cuStreamWaitEvent");
  }

  Expected<std::vector<Module>> loadKernels() override;
  Expected<Module> load(std::span<const uint8_t> image) override {
    lib::Handle module = nullptr;
    Status s = SLUICE_CUDA_ASK(lib.loadModule(&module, image.data()),
                               "cuModuleLoadData");
    if (!s.ok())
      return s.withContext(
          described.name + " (sm_" +
          std::to_string(10 * described.major + described.minor) + ")");
    return static_cast<Module>(module);
  }
  void unload(Module module) override {
    if (!isGivenUp())
      lib.unloadModule(module);
  }
  Expected<Function> find(Module module, const std::string &name) override {
    lib::Handle function = nullptr;
    int result = isGivenUp()
                     ? lib::success
                     : lib.findFunction(&function, module, name.c_str());
    if (result == lib::errorNotFound)
      return static_cast<Function>(nullptr);
    SLUICE_CUDA_TRY(result, "cuModuleGetFunction");
    return static_cast<Function>(function);
  }
  Status allowSharedBytes(Function function, uint32_t bytes) override {
    return SLUICE_CUDA_ASK(lib.setFunction(function,
                                           lib::functionDynamicSharedBytes,
                                           static_cast<int>(bytes)),
                           "cuFuncSetAttribute");
  }

  Status openProducts() override;
  Expected<Graph> makeGraph(std::span<const GraphNode> nodes) override;
  void destroy(Graph graph) override {
    if (!isGivenUp())
      lib.destroyInstance(graph);
  }
  Status upload(Graph graph, Stream stream) override {
    return SLUICE_CUDA_ASK(lib.uploadGraph(graph, stream), "cuGraphUpload");
  }
  Status launch(Graph graph, Stream stream) override {
    return SLUICE_CUDA_ASK(lib.launchGraph(graph, stream), "cuGraphLaunch");
  }

private:
  /// Destroys a graph that has not been instantiated, or not yet.
  void drop(lib::Handle graph) {
    if (!isGivenUp())
      lib.destroyGraph(graph);
  }
  Status setCarveout(Function function);
  Status addNodes(lib::Handle graph, std::span<const GraphNode> nodes);
  Expected<lib::Handle> addKernel(lib::Handle graph, const KernelNode &node);
  Expected<lib::Handle> addNode(lib::Handle graph, const GraphNode &node);
  Expected<lib::Handle> addCaptured(lib::Handle graph,
                                    const CapturedNode &node);
  Expected<lib::Handle> capture(const CapturedNode &node, Stream stream);
  Status addEdge(lib::Handle graph, lib::Handle before, lib::Handle node,
                 Function waits);

  LibCuda lib;
  int device = 0;
  lib::Handle context = nullptr;
  DeviceProperties described;
  std::unique_ptr<CublasLt> products; ///< null if not opened
};

Status LibCudaDevice::open(int32_t number) {
  SLUICE_CUDA_TRY(lib.deviceGet(&device, number), "cuDeviceGet");
  char name[256] = {};
  SLUICE_CUDA_TRY(lib.deviceName(name, sizeof(name) - 1, device),
                  "cuDeviceGetName");
  described.name = name;
  lib::Uuid uuid = {};
  SLUICE_CUDA_TRY(lib.deviceUuid(&uuid, device), "cuDeviceGetUuid");
  for (unsigned char byte : uuid.bytes) {
    described.identity += "0123456789abcdef"[byte / 16];
    described.identity += "0123456789abcdef"[byte % 16];
  }
  for (auto [attribute, value] :
       {std::pair{lib::attributeMajor, &described.major},
        std::pair{lib::attributeMinor, &described.minor},
        std::pair{lib::attributeMultiprocessors, &described.multiprocessors},
        std::pair{lib::attributeSharedBytes, &described.sharedBytes}})
    SLUICE_CUDA_TRY(lib.deviceAttribute(value, attribute, device),
                    "cuDeviceGetAttribute");
  size_t bytes = 0;
  SLUICE_CUDA_TRY(lib.deviceMemory(&bytes, device), "cuDeviceTotalMem");
  described.memoryBytes = bytes;
  for (const KernelImage &image : kernelImages())
    described.kernelBytes += codeBytesOf(image.bytes);
  SLUICE_CUDA_TRY(lib.retainContext(&context, device),
                  "cuDevicePrimaryCtxRetain");
  return enter();
}

Expected<HostMemory> LibCudaDevice::allocateHost(uint64_t bytes) {
  void *host = nullptr;
  SLUICE_CUDA_TRY(
      lib.allocateHost(&host, bytes, lib::hostPortable | lib::hostDeviceMap),
      "cuMemHostAlloc");
  HostMemory memory = {static_cast<uint8_t *>(host), 0, bytes};
  if (Status s = SLUICE_CUDA_ASK(lib.hostPointer(&memory.device, host, 0),
                                 "cuMemHostGetDevicePointer");
      !s.ok()) {
    releaseHost(memory);
    return s;
  }
  return memory;
}

Expected<Stream> LibCudaDevice::makeStream(bool highPriority) {
  int min = 0, greatest = 0;
  SLUICE_CUDA_TRY(lib.priorities(&min, &greatest),
                  "cuCtxGetStreamPriorityRange");
  lib::Handle stream = nullptr;
  SLUICE_CUDA_TRY(lib.makeStream(&stream, lib::streamNonBlocking,
                                 highPriority ? greatest : min),
                  "cuStreamCreateWithPriority");
  return static_cast<Stream>(stream);
}

Expected<std::vector<Module>> LibCudaDevice::loadKernels() {
  if (kernelImages().empty())
    return failure("this executable's runtime was built without CUDA kernels");
  Expected<std::vector<LoadedImage>> images =
      chooseKernelImages(kernelImages());
  if (!images)
    return images.status();
  std::vector<Module> modules;
  for (const LoadedImage &image : *images) {
    Expected<Module> module = load(image.bytes);
    if (!module) {
      for (Module each : modules)
        unload(each);
      return module.status().withContext(image.source);
    }
    modules.push_back(*module);
  }
  return modules;
}

Status LibCudaDevice::openProducts() {
  if (products)
    return {};
  const char *named = std::getenv("SLUICE_CUBLASLT_LIBRARY");
  Expected<std::unique_ptr<CublasLt>> opened =
      CublasLt::open(named ? named : "libcublasLt.so.13");
  if (!opened)
    return opened.status();
  products = opened.take();
  return {};
}

Status LibCudaDevice::addNodes(lib::Handle graph,
                               std::span<const GraphNode> nodes) {
  lib::Handle before = nullptr;
  Function waits = nullptr; // the previous node if it is a kernel
  for (const GraphNode &node : nodes) {
    const auto *kernel = std::get_if<KernelNode>(&node);
    Expected<lib::Handle> added = addNode(graph, node);
    if (!added)
      return added.status();
    if (before)
      SLUICE_RETURN_IF_ERROR(addEdge(
          graph, before, *added, waits && kernel ? kernel->function : nullptr));
    before = *added;
    waits = kernel ? kernel->function : nullptr;
  }
  return {};
}

Expected<lib::Handle> LibCudaDevice::addNode(lib::Handle graph,
                                             const GraphNode &node) {
  if (const auto *kernel = std::get_if<KernelNode>(&node))
    return addKernel(graph, *kernel);
  // cuBLASLt can only put products into streams.
  if (const auto *product = std::get_if<ProductNode>(&node))
    return addCaptured(graph, {[&](Stream stream) {
                         return products->enqueue(*product, stream);
                       }});
  return addCaptured(graph, std::get<CapturedNode>(node));
}

/// Requests the carve-out of shared memory that options() ask for.
Status LibCudaDevice::setCarveout(Function function) {
  return SLUICE_CUDA_ASK(lib.setFunction(function, lib::functionCarveout,
                                         options().largestCarveout
                                             ? lib::carveoutLargest
                                             : lib::carveoutDefault),
                         "cuFuncSetAttribute");
}

Expected<lib::Handle> LibCudaDevice::addKernel(lib::Handle graph,
                                               const KernelNode &node) {
  if (Status s = setCarveout(node.function); !s.ok())
    return s.withContext(node.name);
  // The library copies the arguments; its parameter is merely not declared
  // const.
  std::vector<uint64_t> words = node.words;
  std::vector<void *> parameters;
  for (size_t at = 0; at < words.size(); at += node.parameterWords)
    parameters.push_back(&words[at]);
  lib::KernelNodeParams params = {};
  params.function = node.function;
  params.gridX = node.grid.x;
  params.gridY = node.grid.y;
  params.gridZ = node.grid.z;
  params.blockX = node.threads;
  params.blockY = params.blockZ = 1;
  params.sharedBytes = node.sharedBytes;
  params.parameters = parameters.data();
  lib::Handle added = nullptr;
  SLUICE_CUDA_TRY(lib.addKernel(&added, graph, nullptr, 0, &params),
                  "cuGraphAddKernelNode");
  return added;
}

Expected<lib::Handle> LibCudaDevice::addCaptured(lib::Handle graph,
                                                 const CapturedNode &node) {
  Expected<Stream> stream = makeStream(false);
  if (!stream)
    return stream.status();
  Expected<lib::Handle> captured = capture(node, *stream);
  // After a failure, NCCL's thread may still be about to use the stream. The
  // stream is kept until the context ends, since the job has failed.
  if (!captured)
    return captured.status();
  destroy(*stream);
  lib::Handle added = nullptr;
  Status s = SLUICE_CUDA_ASK(lib.addGraph(&added, graph, nullptr, 0, *captured),
                             "cuGraphAddChildGraphNode");
  drop(*captured); // The graph was copied.
  if (!s.ok())
    return s;
  return added;
}

/// The capture is relaxed, since a library may load code in its first call, and
/// NCCL puts its work into the stream from a thread of its own.
Expected<lib::Handle> LibCudaDevice::capture(const CapturedNode &node,
                                             Stream stream) {
  SLUICE_CUDA_TRY(lib.beginCapture(stream, lib::captureRelaxed),
                  "cuStreamBeginCapture");
  Status status = node.enqueue(stream);
  lib::Handle captured = nullptr;
  Status ended =
      SLUICE_CUDA_ASK(lib.endCapture(stream, &captured), "cuStreamEndCapture");
  if (status.ok() && ended.ok())
    return captured;
  if (captured)
    drop(captured);
  return status.ok() ? ended : status;
}

/// The edge is programmatic if `waits`, a kernel after a kernel, waits by
/// itself: if the chip has dependent launches, the code was compiled for such a
/// chip, and options() allow it. Code for an older chip has no such
/// instruction, even if the driver has translated it. It then starts after the
/// previous kernel has ended and all its writes are visible.
Status LibCudaDevice::addEdge(lib::Handle graph, lib::Handle before,
                              lib::Handle node, Function waits) {
  constexpr int minMajor = 9;
  int version = 0;
  if (waits && options().dependentLaunch)
    SLUICE_CUDA_TRY(
        lib.functionAttribute(&version, lib::functionPtxVersion, waits),
        "cuFuncGetAttribute");
  lib::EdgeData edge;
  if (described.major >= minMajor && version >= 10 * minMajor) {
    edge.fromPort = lib::programmaticPort;
    edge.type = lib::programmaticType;
  }
  return SLUICE_CUDA_ASK(lib.addDependencies(graph, &before, &node, &edge, 1),
                         "cuGraphAddDependencies");
}

Expected<Graph> LibCudaDevice::makeGraph(std::span<const GraphNode> nodes) {
  lib::Handle graph = nullptr, instance = nullptr;
  SLUICE_CUDA_TRY(lib.makeGraph(&graph, 0), "cuGraphCreate");
  Status status = addNodes(graph, nodes);
  if (status.ok())
    status = SLUICE_CUDA_ASK(lib.instantiate(&instance, graph, 0),
                             "cuGraphInstantiate");
  drop(graph);
  if (!status.ok())
    return status;
  return static_cast<Graph>(instance);
}

} // namespace

std::span<const KernelImage> noKernelImages() { return {}; }

Expected<std::unique_ptr<Device>> openLibCudaDevice(const LibCuda &lib,
                                                    int32_t number) {
  auto device = std::make_unique<LibCudaDevice>(lib);
  if (Status s = device->open(number); !s.ok())
    return s.withContext("GPU " + std::to_string(number));
  return std::unique_ptr<Device>(std::move(device));
}

} // namespace sluice::cuda
