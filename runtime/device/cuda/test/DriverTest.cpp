//===- DriverTest.cpp - NVIDIA's library, opened at run time --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses a library that computes nothing (FakeCuda.cpp), and checks which calls
// are made and which error is reported if one fails. The types are compared
// with cuda.h if that is installed.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/BesideProgram.h"
#include "runtime/device/cuda/driver/LibCuda.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#define HAS_CUDA_H 1
#endif

using namespace sluice;
using namespace sluice::cuda;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Libraries that take the places of NVIDIA's: libcuda, an old one, cuBLASLt.
const std::string fakeCuda = besideProgram("libFakeCuda.so");
const std::string fakeOldCuda = besideProgram("libFakeOldCuda.so");
const std::string fakeCublasLt = besideProgram("libFakeCublasLt.so");

class DriverTest : public testing::Test {
protected:
  void SetUp() override {
    std::string why = notBesideProgram(
        {"libFakeCuda.so", "libFakeOldCuda.so", "libFakeCublasLt.so"});
    if (!why.empty())
      GTEST_SKIP() << why;
  }
  void TearDown() override {
    for (const char *variable :
         {"FAKE_CUDA_VERSION", "FAKE_CUDA_INIT", "FAKE_CUDA_FAIL",
          "FAKE_CUDA_QUERY", "FAKE_CUDA_MAJOR"})
      ::unsetenv(variable);
  }

  static std::string openError(const std::string &library = fakeCuda) {
    return openLibCuda(library).status().message();
  }

  std::unique_ptr<Device> openDevice() {
    Expected<std::unique_ptr<Driver>> driver = openLibCuda(fakeCuda);
    EXPECT_TRUE(driver) << driver.status().message();
    Expected<std::unique_ptr<Device>> device = (*driver)->open(0);
    EXPECT_TRUE(device) << device.status().message();
    forget();
    return device.take();
  }

  void forget() { fake<void (*)()>("fake_cuda_forget")(); }
  std::string calls() { return fake<const char *(*)()>("fake_cuda_calls")(); }

private:
  template <typename F> F fake(const char *name) {
    void *handle = ::dlopen(fakeCuda.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<F>(::dlsym(handle, name));
  }
};

} // namespace

TEST_F(DriverTest, NoDriverIsOneLine) {
  EXPECT_THAT(openError("libcuda-that-is-not-here.so"),
              StartsWith("no NVIDIA driver is here: "
                         "libcuda-that-is-not-here.so: "));
}

TEST_F(DriverTest, AnOldDriverSaysWhatIsNeeded) {
  ::setenv("FAKE_CUDA_VERSION", "12040", 1);
  EXPECT_EQ(openError(), "the NVIDIA driver is too old: it is for CUDA 12.4, "
                         "and 13.0 is needed");
  EXPECT_THAT(openError(fakeOldCuda),
              HasSubstr("has no cuGraphLaunch: the NVIDIA driver is too old"));
}

TEST_F(DriverTest, NoDeviceAndAnotherFault) {
  ::setenv("FAKE_CUDA_INIT", "100", 1);
  EXPECT_EQ(openError(), "no NVIDIA GPU is here");
  ::setenv("FAKE_CUDA_INIT", "2", 1);
  EXPECT_EQ(openError(),
            "the NVIDIA driver does not start: cuInit: out of memory");
  ::setenv("FAKE_CUDA_INIT", "999", 1);
  EXPECT_EQ(openError(), "the NVIDIA driver does not start: cuInit: error 999");
}

TEST_F(DriverTest, ADeviceDescribesItself) {
  Expected<std::unique_ptr<Driver>> driver = openLibCuda(fakeCuda);
  ASSERT_TRUE(driver) << driver.status().message();
  EXPECT_EQ((*driver)->version(), 13000);
  EXPECT_EQ((*driver)->open(1).status().message(),
            "GPU 1 is not here: there are 1");
  std::unique_ptr<Device> device = (*driver)->open(0).take();
  const DeviceProperties &properties = device->properties();
  EXPECT_EQ(properties.name, "Fake");
  EXPECT_EQ(properties.identity, "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0");
  EXPECT_EQ(properties.major, 75);
  EXPECT_EQ(properties.minor, 76);
  EXPECT_EQ(properties.multiprocessors, 16);
  EXPECT_EQ(properties.sharedBytes, 97);
  EXPECT_EQ(properties.memoryBytes, 1000u);
  EXPECT_EQ(device->memory()->freeBytes, 600u);
  ::setenv("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain", 1);
  EXPECT_EQ((*driver)->open(0).status().message(),
            "GPU 0: cuDevicePrimaryCtxRetain: out of memory");
}

TEST_F(DriverTest, AGraphIsAChainOfDependentLaunches) {
  std::unique_ptr<Device> device = openDevice();
  auto function = reinterpret_cast<Function>(uintptr_t{16});
  std::vector<GraphNode> nodes = {
      KernelNode{function, {3, 4, 5}, 64, 1024, {7, 8, 9, 10}, 2},
      KernelNode{function, {1, 1, 1}, 32, 0, {11, 12}, 1}};
  Expected<Graph> graph = device->makeGraph(nodes);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(calls(),
            "cuGraphCreate carveout 100 cuFuncSetAttribute "
            "(3,4,5)x64:1024,7,9 cuGraphAddKernelNode "
            "carveout 100 cuFuncSetAttribute "
            "(1,1,1)x32:0,11,12 cuGraphAddKernelNode cuFuncGetAttribute "
            "edge 101x1 cuGraphAddDependencies cuGraphInstantiate "
            "cuGraphDestroy ");
  for (const char *call :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuFuncGetAttribute",
        "cuGraphAddDependencies", "cuGraphInstantiate"}) {
    ::setenv("FAKE_CUDA_FAIL", call, 1);
    EXPECT_EQ(device->makeGraph(nodes).status().message(),
              std::string(call) + ": out of memory");
  }
}

/// What the library puts into a stream becomes a graph within the graph. Its
/// edges make all of a node wait for all of the node before.
TEST_F(DriverTest, ProductsAreGraphsInTheGraph) {
  ::setenv("SLUICE_CUBLASLT_LIBRARY", fakeCublasLt.c_str(), 1);
  std::unique_ptr<Device> device = openDevice();
  ASSERT_TRUE(device->openProducts().ok());
  auto function = reinterpret_cast<Function>(uintptr_t{16});
  std::vector<uint16_t> numbers(8);
  float result = 1;
  ProductNode product;
  product.weight = product.rows =
      reinterpret_cast<DeviceAddress>(numbers.data());
  product.result = reinterpret_cast<DeviceAddress>(&result);
  product.rowCount = product.columns = product.resultStride = 1;
  product.features = 8;
  KernelNode kernel = {function, {1, 1, 1}, 32, 0, {1, 2}, 1};
  std::vector<GraphNode> nodes = {kernel, product, kernel, kernel};
  Expected<Graph> graph = device->makeGraph(nodes);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(calls(),
            "cuGraphCreate carveout 100 cuFuncSetAttribute "
            "(1,1,1)x32:0,1,2 cuGraphAddKernelNode "
            "cuCtxGetStreamPriorityRange priority 0 "
            "cuStreamCreateWithPriority mode 2 cuStreamBeginCapture "
            "cuStreamEndCapture cuStreamDestroy cuGraphAddChildGraphNode "
            "cuGraphDestroy edge 000x1 cuGraphAddDependencies "
            "carveout 100 cuFuncSetAttribute "
            "(1,1,1)x32:0,1,2 cuGraphAddKernelNode edge 000x1 "
            "cuGraphAddDependencies carveout 100 cuFuncSetAttribute "
            "(1,1,1)x32:0,1,2 cuGraphAddKernelNode cuFuncGetAttribute "
            "edge 101x1 cuGraphAddDependencies cuGraphInstantiate "
            "cuGraphDestroy ");
  EXPECT_EQ(result, 0); // The fake multiplies at once.
  for (const char *call : {"cuStreamBeginCapture", "cuStreamEndCapture",
                           "cuGraphAddChildGraphNode"}) {
    ::setenv("FAKE_CUDA_FAIL", call, 1);
    EXPECT_EQ(device->makeGraph(nodes).status().message(),
              std::string(call) + ": out of memory");
  }
  ::unsetenv("FAKE_CUDA_FAIL");
  ::setenv("SLUICE_FAKE_CUBLASLT_FAIL", "cublasLtMatmul", 1);
  EXPECT_EQ(device->makeGraph(nodes).status().message(),
            "cublasLtMatmul: cuBLAS status 13");
  ::unsetenv("SLUICE_FAKE_CUBLASLT_FAIL");
  ::setenv("SLUICE_CUBLASLT_LIBRARY", "/nowhere/lib.so", 1);
  EXPECT_THAT(openDevice()->openProducts().message(),
              StartsWith("no cuBLASLt is here: /nowhere/lib.so: "));
  ::unsetenv("SLUICE_CUBLASLT_LIBRARY");
}

/// Captured work is handled like a product. Its error is that of the graph, and
/// the capture is ended nevertheless.
TEST_F(DriverTest, CapturedWorkIsAGraphInTheGraph) {
  std::unique_ptr<Device> device = openDevice();
  CapturedNode fills = {
      [&](Stream stream) { return device->fill(4096, 0, 16, stream); }};
  ASSERT_TRUE(device->makeGraph(std::vector<GraphNode>{fills}));
  EXPECT_EQ(calls(), "cuGraphCreate cuCtxGetStreamPriorityRange priority 0 "
                     "cuStreamCreateWithPriority mode 2 cuStreamBeginCapture "
                     "cuMemsetD8Async cuStreamEndCapture cuStreamDestroy "
                     "cuGraphAddChildGraphNode cuGraphDestroy "
                     "cuGraphInstantiate cuGraphDestroy ");
  CapturedNode fails = {[](Stream) { return failure("the library is tired"); }};
  EXPECT_EQ(device->makeGraph(std::vector<GraphNode>{fails}).status().message(),
            "the library is tired");
  EXPECT_THAT(calls(), HasSubstr("cuStreamEndCapture cuGraphDestroy "));
}

/// Code without dependent launches cannot wait for the previous kernel itself,
/// so its edge waits.
TEST_F(DriverTest, WhatCannotWaitByItselfStartsBehindTheKernelBefore) {
  auto edgesOf = [&](const std::vector<uintptr_t> &functions) {
    std::unique_ptr<Device> device = openDevice();
    std::vector<GraphNode> nodes;
    for (uintptr_t function : functions)
      nodes.push_back(KernelNode{
          reinterpret_cast<Function>(function), {1, 1, 1}, 32, 0, {1, 2}, 1});
    EXPECT_TRUE(device->makeGraph(nodes));
    std::string made = calls(), edges;
    for (size_t at = made.find("edge "); at != std::string::npos;
         at = made.find("edge ", at + 1))
      edges += made.substr(at + 5, 6);
    return edges;
  };
  // The second kernel is old; the kernels after it are not.
  EXPECT_EQ(edgesOf({16, 32, 16, 16}), "000x1 101x1 101x1 ");
  ::setenv("FAKE_CUDA_MAJOR", "8", 1);
  EXPECT_EQ(edgesOf({16, 16, 32}), "000x1 000x1 ");
  ::setenv("FAKE_CUDA_MAJOR", "9", 1);
  EXPECT_EQ(edgesOf({16, 16}), "101x1 ");
}

/// Each kernel then starts after the end of the previous one.
TEST_F(DriverTest, DependentLaunchCanBeLeftOut) {
  std::unique_ptr<Device> device = openDevice();
  DeviceOptions options;
  options.dependentLaunch = false;
  device->use(options);
  KernelNode kernel = {
      reinterpret_cast<Function>(uintptr_t{16}), {1, 1, 1}, 32, 0, {1, 2}, 1};
  EXPECT_TRUE(device->makeGraph(std::vector<GraphNode>{kernel, kernel}));
  EXPECT_THAT(calls(), HasSubstr("edge 000x1"));
  EXPECT_THAT(calls(), testing::Not(HasSubstr("edge 101x1")));
}

/// Each kernel's carve-out is set when its node is made, as options() say at
/// that time.
TEST_F(DriverTest, KernelsOfGraphsPreferTheLargestCarveout) {
  std::unique_ptr<Device> device = openDevice();
  KernelNode kernel = {
      reinterpret_cast<Function>(uintptr_t{16}), {1, 1, 1}, 32, 0, {1, 2}, 1};
  kernel.name = "some_kernel";
  const std::vector<GraphNode> nodes = {kernel, kernel};
  auto carveouts = [&] {
    forget();
    EXPECT_TRUE(device->makeGraph(nodes));
    std::string made = calls(), found;
    for (size_t at = made.find("carveout "); at != std::string::npos;
         at = made.find("carveout ", at + 1))
      found += made.substr(at + 9, made.find(' ', at + 9) - at - 8);
    return found;
  };
  EXPECT_EQ(carveouts(), "100 100 ");
  DeviceOptions options;
  options.largestCarveout = false;
  device->use(options);
  EXPECT_EQ(carveouts(), "-1 -1 ");
  device->use({});
  EXPECT_EQ(carveouts(), "100 100 ");
  ::setenv("FAKE_CUDA_FAIL", "cuFuncSetAttribute", 1);
  EXPECT_EQ(device->makeGraph(nodes).status().message(),
            "some_kernel: cuFuncSetAttribute: out of memory");
}

TEST_F(DriverTest, EachCallSaysWhichItWas) {
  std::unique_ptr<Device> device = openDevice();
  Stream stream = *device->makeStream();
  Event event = *device->makeEvent();
  auto function = reinterpret_cast<Function>(uintptr_t{16});
  auto graph = reinterpret_cast<Graph>(uintptr_t{16});
  uint8_t byte = 0;
  auto allocateHost = [&] {
    Expected<HostMemory> memory = device->allocateHost(1);
    if (memory)
      device->releaseHost(*memory);
    return memory.status();
  };
  const std::pair<const char *, std::function<Status()>> cases[] = {
      {"cuCtxSetCurrent", [&] { return device->enter(); }},
      {"cuMemGetInfo", [&] { return device->memory().status(); }},
      {"cuMemAlloc", [&] { return device->allocate(1).status(); }},
      {"cuMemHostAlloc", allocateHost},
      {"cuMemHostGetDevicePointer", allocateHost},
      {"cuMemcpyHtoDAsync",
       [&] { return device->copyToDevice(1, &byte, 1, stream); }},
      {"cuMemcpyDtoHAsync",
       [&] { return device->copyToHost(&byte, 1, 1, stream); }},
      {"cuMemcpyDtoDAsync",
       [&] { return device->copyOnDevice(1, 2, 1, stream); }},
      {"cuMemsetD8Async", [&] { return device->fill(1, 0, 1, stream); }},
      {"cuStreamCreateWithPriority",
       [&] { return device->makeStream().status(); }},
      {"cuStreamSynchronize", [&] { return device->synchronize(stream); }},
      {"cuEventCreate", [&] { return device->makeEvent().status(); }},
      {"cuEventRecord", [&] { return device->record(event, stream); }},
      {"cuEventQuery", [&] { return device->isDone(event).status(); }},
      {"cuStreamWaitEvent", [&] { return device->wait(stream, event); }},
      {"cuModuleGetFunction",
       [&] { return device->find(nullptr, "x").status(); }},
      {"cuFuncSetAttribute",
       [&] { return device->allowSharedBytes(function, 1); }},
      {"cuGraphUpload", [&] { return device->upload(graph, stream); }},
      {"cuGraphLaunch", [&] { return device->launch(graph, stream); }}};
  for (const auto &[name, call] : cases) {
    EXPECT_TRUE(call().ok()) << name;
    ::setenv("FAKE_CUDA_FAIL", name, 1);
    EXPECT_EQ(call().message(), std::string(name) + ": out of memory");
    ::unsetenv("FAKE_CUDA_FAIL");
  }
  ::setenv("FAKE_CUDA_FAIL", "cuModuleLoadData", 1);
  EXPECT_EQ(device->load({&byte, 1}).status().message(),
            "Fake (sm_826): cuModuleLoadData: out of memory");
}

TEST_F(DriverTest, WhatIsNoError) {
  std::unique_ptr<Device> device = openDevice();
  ::setenv("FAKE_CUDA_QUERY", "600", 1);
  EXPECT_FALSE(*device->isDone(nullptr));
  ::unsetenv("FAKE_CUDA_QUERY");
  EXPECT_TRUE(*device->isDone(nullptr));
  EXPECT_EQ(*device->find(nullptr, "nobody"), nullptr);
  (void)device->makeStream(true);
  EXPECT_THAT(calls(), HasSubstr("priority -5 "));
  HostMemory memory = *device->allocateHost(8);
  EXPECT_EQ(memory.device, reinterpret_cast<uint64_t>(memory.host) + 1);
  device->releaseHost(memory);
}

/// Calls that would wait for a kernel that does not end are not made any more,
/// and nothing is released that the kernel may use.
TEST_F(DriverTest, NothingIsAskedOfADeviceThatIsGivenUp) {
  std::unique_ptr<Device> device = openDevice();
  Stream stream = *device->makeStream();
  Event event = *device->makeEvent();
  auto graph = reinterpret_cast<Graph>(uintptr_t{16});
  HostMemory host = *device->allocateHost(8);
  device->giveUp(failure("it does not end"));
  device->giveUp(failure("a later reason"));
  forget();
  uint8_t byte = 0;
  for (const Status &status :
       {device->enter(), device->memory().status(),
        device->allocate(1).status(), device->allocateHost(1).status(),
        device->copyToDevice(1, &byte, 1, stream),
        device->copyToHost(&byte, 1, 1, stream),
        device->copyOnDevice(1, 2, 1, stream), device->fill(1, 0, 1, stream),
        device->makeStream().status(), device->synchronize(stream),
        device->makeEvent().status(), device->record(event, stream),
        device->isDone(event).status(), device->wait(stream, event),
        device->load({&byte, 1}).status(), device->makeGraph({}).status(),
        device->find(nullptr, "x").status(), device->upload(graph, stream),
        device->launch(graph, stream)})
    EXPECT_THAT(status.message(), testing::EndsWith("it does not end"));
  device->releaseHost(host);
  device->release(4096);
  device->destroy(stream);
  device->destroy(event);
  device->destroy(graph);
  device->unload(nullptr);
  device.reset();
  EXPECT_EQ(calls(), "");
  std::free(host.host);
}

/// The node behaves like a captured exchange that does not end.
TEST_F(DriverTest, ACapturedNodeMayGiveTheDeviceUp) {
  std::unique_ptr<Device> device = openDevice();
  const std::vector<GraphNode> nodes = {CapturedNode{[&](Stream) -> Status {
    device->giveUp(failure("it does not end"));
    forget();
    return device->givenUp();
  }}};
  EXPECT_EQ(device->makeGraph(nodes).status().message(), "it does not end");
  device.reset();
  EXPECT_EQ(calls(), "");
}

#ifdef HAS_CUDA_H
namespace {

/// Returns whether a call of the library may be made with one type for the
/// other: the same type, the number of an enumeration, a handle for a pointer
/// to an opaque type, a structure of ours of the same size; and pointers to
/// such types.
template <typename Theirs, typename Ours> constexpr bool fits() {
  if constexpr (std::is_same_v<Theirs, Ours>) {
    return true;
  } else if constexpr (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours>) {
    using Their = std::remove_pointer_t<Theirs>;
    using Our = std::remove_pointer_t<Ours>;
    if constexpr (std::is_void_v<Our>)
      return std::is_class_v<Their>;
    else
      return std::is_const_v<Their> == std::is_const_v<Our> &&
             fits<std::remove_const_t<Their>, std::remove_const_t<Our>>();
  } else if constexpr (std::is_enum_v<Theirs> || std::is_integral_v<Theirs>) {
    return std::is_integral_v<Ours> && sizeof(Theirs) == sizeof(Ours) &&
           (std::is_enum_v<Theirs> ||
            std::is_signed_v<Theirs> == std::is_signed_v<Ours>);
  } else if constexpr (std::is_class_v<Theirs> && std::is_class_v<Ours>) {
    return sizeof(Theirs) == sizeof(Ours);
  } else {
    return false;
  }
}

template <typename... Ours> struct Call {
  template <typename Result, typename... Theirs>
  static constexpr bool is(Result (*)(Theirs...)) {
    if constexpr (sizeof...(Theirs) == sizeof...(Ours))
      return fits<Result, int>() && (fits<Theirs, Ours>() && ...);
    else
      return false;
  }
};

#define CHECK_CALL(member, symbol, ...)                                        \
  static_assert(Call<__VA_ARGS__>::is(decltype(&symbol){}), #symbol);
SLUICE_CUDA_CALLS(CHECK_CALL)
#undef CHECK_CALL

static_assert(!fits<const int *, int *>() && !fits<unsigned, int>() &&
              !fits<CUstream, int *>() && !fits<size_t, unsigned>());

} // namespace

TEST(LibCudaTypesTest, AreThoseOfCudaH) {
  EXPECT_EQ(lib::errorNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(lib::errorNotFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(lib::errorNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(lib::attributeMultiprocessors,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(lib::attributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(lib::attributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(lib::attributeSharedBytes,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(lib::functionPtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  EXPECT_EQ(lib::functionDynamicSharedBytes,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(lib::hostPortable, unsigned(CU_MEMHOSTALLOC_PORTABLE));
  EXPECT_EQ(lib::hostDeviceMap, unsigned(CU_MEMHOSTALLOC_DEVICEMAP));
  EXPECT_EQ(lib::streamNonBlocking, unsigned(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(lib::eventDisableTiming, unsigned(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(lib::programmaticPort, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  EXPECT_EQ(lib::functionCarveout,
            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  EXPECT_EQ(lib::carveoutLargest, CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
  EXPECT_EQ(lib::carveoutDefault, CU_SHAREDMEM_CARVEOUT_DEFAULT);
  EXPECT_EQ(int(lib::programmaticType),
            int(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
  static_assert(sizeof(lib::KernelNodeParams) ==
                sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
  static_assert(offsetof(lib::KernelNodeParams, sharedBytes) ==
                offsetof(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes));
  static_assert(offsetof(lib::KernelNodeParams, parameters) ==
                offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
  static_assert(sizeof(lib::EdgeData) == sizeof(CUgraphEdgeData));
  static_assert(offsetof(lib::EdgeData, type) ==
                offsetof(CUgraphEdgeData, type));
}
#endif
