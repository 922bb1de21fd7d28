//===- FakeCuda.cpp - a libcuda for tests that computes nothing -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library with the functions of libcuda. DriverTest controls it by
// environment variables, and can ask it for the list of calls.
//
//   FAKE_CUDA_VERSION=12040   the driver's version; default 13000
//   FAKE_CUDA_INIT=100        what cuInit returns
//   FAKE_CUDA_FAIL=cuX        the function that returns error 2
//   FAKE_CUDA_MAJOR=8         the device's compute capability; default 75
//
// The function 32 was compiled for 8.0, all others for 9.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/LibCudaTypes.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace lib = sluice::cuda::lib;

namespace {

std::string calls;

int result(const char *name) {
  const char *fails = std::getenv("FAKE_CUDA_FAIL");
  calls += std::string(name) + " ";
  return fails && std::strcmp(fails, name) == 0 ? 2 : 0;
}

int numberOf(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

int handles = 0;
lib::Handle nextHandle() {
  return reinterpret_cast<lib::Handle>(uintptr_t(++handles) * 16);
}

} // namespace

extern "C" {

const char *fake_cuda_calls() { return calls.c_str(); }
void fake_cuda_forget() { calls.clear(); }

int cuInit(unsigned) { return numberOf("FAKE_CUDA_INIT", 0); }
int cuDriverGetVersion(int *version) {
  *version = numberOf("FAKE_CUDA_VERSION", 13000);
  return 0;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == 2 ? "out of memory" : nullptr;
  return error == 2 ? 0 : 1;
}
int cuDeviceGetCount(int *count) {
  *count = 1;
  return result("cuDeviceGetCount");
}
int cuDeviceGet(int *device, int number) {
  *device = number;
  return result("cuDeviceGet");
}
int cuDeviceGetName(char *name, int bytes, int) {
  std::strncpy(name, "Fake", size_t(bytes));
  return result("cuDeviceGetName");
}
int cuDeviceGetUuid_v2(lib::Uuid *uuid, int device) {
  std::memset(uuid->bytes, 0xA0 + device, sizeof(uuid->bytes));
  return result("cuDeviceGetUuid");
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == lib::attributeMajor
               ? numberOf("FAKE_CUDA_MAJOR", attribute)
               : attribute;
  return result("cuDeviceGetAttribute");
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = 1000;
  return result("cuDeviceTotalMem");
}
int cuDevicePrimaryCtxRetain(lib::Handle *context, int) {
  *context = nextHandle();
  return result("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return result("cuDevicePrimaryCtxRelease");
}
int cuCtxSetCurrent(lib::Handle) { return result("cuCtxSetCurrent"); }
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = 600;
  *total = 1000;
  return result("cuMemGetInfo");
}
int cuMemAlloc_v2(uint64_t *address, size_t) {
  *address = 4096;
  return result("cuMemAlloc");
}
int cuMemFree_v2(uint64_t) { return result("cuMemFree"); }
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  const int failed = flags == 3 ? result("cuMemHostAlloc") : 1;
  *memory = failed ? nullptr : std::malloc(bytes);
  return failed;
}
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned) {
  *address = reinterpret_cast<uint64_t>(memory) + 1;
  return result("cuMemHostGetDevicePointer");
}
int cuMemFreeHost(void *memory) {
  std::free(memory);
  return result("cuMemFreeHost");
}
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, lib::Handle) {
  return result("cuMemcpyHtoDAsync");
}
int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, lib::Handle) {
  return result("cuMemcpyDtoHAsync");
}
int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, lib::Handle) {
  return result("cuMemcpyDtoDAsync");
}
int cuMemsetD8Async(uint64_t, unsigned char, size_t, lib::Handle) {
  return result("cuMemsetD8Async");
}
int cuCtxGetStreamPriorityRange(int *min, int *greatest) {
  *min = 0;
  *greatest = -5;
  return result("cuCtxGetStreamPriorityRange");
}
int cuStreamCreateWithPriority(lib::Handle *stream, unsigned flags,
                               int priority) {
  *stream = nextHandle();
  calls += "priority " + std::to_string(priority) + " ";
  return flags == 1 ? result("cuStreamCreateWithPriority") : 1;
}
int cuStreamDestroy_v2(lib::Handle) { return result("cuStreamDestroy"); }
int cuStreamSynchronize(lib::Handle) { return result("cuStreamSynchronize"); }
int cuStreamWaitEvent(lib::Handle, lib::Handle, unsigned) {
  return result("cuStreamWaitEvent");
}
int cuEventCreate(lib::Handle *event, unsigned flags) {
  *event = nextHandle();
  return flags == 2 ? result("cuEventCreate") : 1;
}
int cuEventDestroy_v2(lib::Handle) { return result("cuEventDestroy"); }
int cuEventRecord(lib::Handle, lib::Handle) { return result("cuEventRecord"); }
int cuEventQuery(lib::Handle) {
  int failed = result("cuEventQuery");
  return failed ? failed : numberOf("FAKE_CUDA_QUERY", 0);
}
int cuModuleLoadData(lib::Handle *module, const void *) {
  *module = nextHandle();
  return result("cuModuleLoadData");
}
int cuModuleUnload(lib::Handle) { return result("cuModuleUnload"); }
int cuModuleGetFunction(lib::Handle *function, lib::Handle, const char *name) {
  *function = nextHandle();
  return std::strcmp(name, "nobody") == 0 ? lib::errorNotFound
                                          : result("cuModuleGetFunction");
}
int cuFuncSetAttribute(lib::Handle, int attribute, int value) {
  if (attribute == 9)
    calls += "carveout " + std::to_string(value) + " ";
  return attribute == 8 || attribute == 9 ? result("cuFuncSetAttribute") : 1;
}
int cuFuncGetAttribute(int *value, int attribute, lib::Handle function) {
  *value = reinterpret_cast<uintptr_t>(function) == 32 ? 80 : 90;
  return attribute == 5 ? result("cuFuncGetAttribute") : 1;
}
int cuGraphCreate(lib::Handle *graph, unsigned) {
  *graph = nextHandle();
  return result("cuGraphCreate");
}
int cuGraphDestroy(lib::Handle) { return result("cuGraphDestroy"); }
int cuGraphAddKernelNode_v2(lib::Handle *node, lib::Handle, const lib::Handle *,
                            size_t, const lib::KernelNodeParams *params) {
  *node = nextHandle();
  calls += "(" + std::to_string(params->gridX) + "," +
           std::to_string(params->gridY) + "," + std::to_string(params->gridZ) +
           ")x" + std::to_string(params->blockX) + ":" +
           std::to_string(params->sharedBytes);
  // Adds the first word of each of two parameters.
  for (int i = 0; i < 2; ++i)
    calls +=
        "," + std::to_string(*static_cast<uint64_t *>(params->parameters[i]));
  calls += " ";
  return result("cuGraphAddKernelNode");
}
int cuGraphAddChildGraphNode(lib::Handle *node, lib::Handle,
                             const lib::Handle *, size_t, lib::Handle) {
  *node = nextHandle();
  return result("cuGraphAddChildGraphNode");
}
int cuStreamBeginCapture_v2(lib::Handle, int mode) {
  calls += "mode " + std::to_string(mode) + " ";
  return result("cuStreamBeginCapture");
}
int cuStreamEndCapture(lib::Handle, lib::Handle *graph) {
  int failed = result("cuStreamEndCapture");
  *graph = failed ? nullptr : nextHandle();
  return failed;
}
int cuGraphAddDependencies_v2(lib::Handle, const lib::Handle *,
                              const lib::Handle *, const lib::EdgeData *edge,
                              size_t count) {
  calls += "edge " + std::to_string(edge->fromPort) +
           std::to_string(edge->toPort) + std::to_string(edge->type) + "x" +
           std::to_string(count) + " ";
  return result("cuGraphAddDependencies");
}
int cuGraphInstantiateWithFlags(lib::Handle *instance, lib::Handle,
                                unsigned long long) {
  *instance = nextHandle();
  return result("cuGraphInstantiate");
}
int cuGraphExecDestroy(lib::Handle) { return result("cuGraphExecDestroy"); }
int cuGraphUpload(lib::Handle, lib::Handle) { return result("cuGraphUpload"); }
#ifndef FAKE_CUDA_LACKS_LAUNCH
int cuGraphLaunch(lib::Handle, lib::Handle) { return result("cuGraphLaunch"); }
#endif

} // extern "C"
