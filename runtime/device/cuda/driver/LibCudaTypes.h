//===- LibCudaTypes.h - the part of libcuda's interface that is used ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime also builds without cuda.h. This header has its types and numbers
// as of CUDA 12.3 and later; LibCudaTypesTest compares them with cuda.h if that
// is installed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDATYPES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDATYPES_H

#include <cstddef>
#include <cstdint>

namespace sluice::cuda::lib {

// CUresult
constexpr int success = 0;
constexpr int errorNoDevice = 100;
constexpr int errorNotFound = 500;
constexpr int errorNotReady = 600;

// CUdevice_attribute
constexpr int attributeMultiprocessors = 16;
constexpr int attributeMajor = 75;
constexpr int attributeMinor = 76;
constexpr int attributeSharedBytes = 97; ///< maximum per block, by opt-in

// CUfunction_attribute
constexpr int functionPtxVersion = 5; ///< 90: compiled for 9.0
constexpr int functionDynamicSharedBytes = 8;
constexpr int functionCarveout = 9; ///< the wanted percentage of shared memory
constexpr int carveoutDefault = -1, carveoutLargest = 100;

constexpr unsigned hostPortable = 1, hostDeviceMap = 2; ///< cuMemHostAlloc
constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;
constexpr int captureRelaxed = 2; ///< CUstreamCaptureMode

using Handle = void *;

/// CUuuid
struct Uuid {
  unsigned char bytes[16];
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  Handle function;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **parameters;
  void **extra;
  Handle kernel;
  Handle context;
};

/// CUgraphEdgeData
struct EdgeData {
  unsigned char fromPort = 0;
  unsigned char toPort = 0;
  unsigned char type = 0;
  unsigned char reserved[5] = {};
};
constexpr unsigned char programmaticPort = 1, programmaticType = 1;

/// call(member, symbol, parameters...) for every function of libcuda that is
/// used. All return a CUresult.
// clang-format off
#define SLUICE_CUDA_CALLS(call)                                                \
  call(init, cuInit, unsigned)                                                 \
  call(driverVersion, cuDriverGetVersion, int *)                               \
  call(errorString, cuGetErrorString, int, const char **)                      \
  call(deviceCount, cuDeviceGetCount, int *)                                   \
  call(deviceGet, cuDeviceGet, int *, int)                                     \
  call(deviceName, cuDeviceGetName, char *, int, int)                          \
  call(deviceUuid, cuDeviceGetUuid_v2, lib::Uuid *, int)                       \
  call(deviceAttribute, cuDeviceGetAttribute, int *, int, int)                 \
  call(deviceMemory, cuDeviceTotalMem_v2, size_t *, int)                       \
  call(retainContext, cuDevicePrimaryCtxRetain, lib::Handle *, int)            \
  call(releaseContext, cuDevicePrimaryCtxRelease_v2, int)                      \
  call(setContext, cuCtxSetCurrent, lib::Handle)                               \
  call(memoryInfo, cuMemGetInfo_v2, size_t *, size_t *)                        \
  call(allocate, cuMemAlloc_v2, uint64_t *, size_t)                            \
  call(release, cuMemFree_v2, uint64_t)                                        \
  call(allocateHost, cuMemHostAlloc, void **, size_t, unsigned)                \
  call(hostPointer, cuMemHostGetDevicePointer_v2, uint64_t *, void *,          \
       unsigned)                                                               \
  call(releaseHost, cuMemFreeHost, void *)                                     \
  call(copyToDevice, cuMemcpyHtoDAsync_v2, uint64_t, const void *, size_t,     \
       lib::Handle)                                                            \
  call(copyToHost, cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t,             \
       lib::Handle)                                                            \
  call(copyOnDevice, cuMemcpyDtoDAsync_v2, uint64_t, uint64_t, size_t,         \
       lib::Handle)                                                            \
  call(fill, cuMemsetD8Async, uint64_t, unsigned char, size_t, lib::Handle)    \
  call(priorities, cuCtxGetStreamPriorityRange, int *, int *)                  \
  call(makeStream, cuStreamCreateWithPriority, lib::Handle *, unsigned, int)   \
  call(destroyStream, cuStreamDestroy_v2, lib::Handle)                         \
  call(synchronize, cuStreamSynchronize, lib::Handle)                          \
  call(waitEvent, cuStreamWaitEvent, lib::Handle, lib::Handle, unsigned)       \
  call(makeEvent, cuEventCreate, lib:: Handle *, unsigned)                     \
  call(destroyEvent, cuEventDestroy_v2, lib::Handle)                           \
  call(recordEvent, cuEventRecord, lib::Handle, lib::Handle)                   \
  call(queryEvent, cuEventQuery, lib::Handle)                                  \
  call(loadModule, cuModuleLoadData, lib::Handle *, const void *)              \
  call(unloadModule, cuModuleUnload, lib:: Handle)                             \
  call(findFunction, cuModuleGetFunction, lib::Handle *, lib::Handle,          \
       const char *)                                                           \
  call(setFunction, cuFuncSetAttribute, lib:: Handle, int, int)                \
  call(functionAttribute, cuFuncGetAttribute, int *, int, lib::Handle)         \
  call(makeGraph, cuGraphCreate, lib::Handle *, unsigned)                      \
  call(destroyGraph, cuGraphDestroy, lib:: Handle)                             \
  call(addKernel, cuGraphAddKernelNode_v2, lib::Handle *, lib::Handle,         \
       const lib::Handle *, size_t, const lib::KernelNodeParams *)             \
  call(addDependencies, cuGraphAddDependencies_v2, lib::Handle,                \
       const lib::Handle *, const lib::Handle *, const lib::EdgeData *,        \
       size_t)                                                                 \
  call(addGraph, cuGraphAddChildGraphNode, lib::Handle *, lib::Handle,         \
       const lib::Handle *, size_t, lib::Handle)                               \
  call(beginCapture, cuStreamBeginCapture_v2, lib::Handle, int)                \
  call(endCapture, cuStreamEndCapture, lib::Handle, lib::Handle *)             \
  call(instantiate, cuGraphInstantiateWithFlags, lib::Handle *, lib::Handle,   \
       unsigned long long)                                                     \
  call(destroyInstance, cuGraphExecDestroy, lib::Handle)                       \
  call(uploadGraph, cuGraphUpload, lib::Handle, lib::Handle)                   \
  call(launchGraph, cuGraphLaunch, lib::Handle, lib::Handle)
// clang-format on

} // namespace sluice::cuda::lib

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDATYPES_H
