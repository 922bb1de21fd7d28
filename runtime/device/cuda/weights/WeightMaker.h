//===- WeightMaker.h - random weights, made on the device -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For speed tests a model's weights may be made of a seed
// (program/RandomWeights.h). Most of them a GPU makes where they are to lie, in
// the tiles that WeightUpload would have sent, byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H

#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

namespace sluice::cuda {

/// Whether there is a kernel that makes the weight's tiles of rows that
/// RandomRow.h describes: of a product or a table, all of it and not
/// transposed, in the format that the file has, or in e4m3 of a plain one. The
/// others are made on the host and sent: vectors, parts that a member of a
/// group has, transposed weights, formats that have no kernels, e4m3 whose
/// scales lie apart, other formats that weights are quantised to. `random` of
/// its matrices is not looked at; what is another weight's partner is made with
/// that.
bool canMakeOnDevice(const CudaWeight &weight);

/// Runs these kernels, some weights at a time. For one thread.
class WeightMaker {
public:
  /// All are referred to.
  WeightMaker(Device &device, KernelLibrary &kernels, Stream stream,
              WeightUpload::Progress progress)
      : device(device), kernels(kernels), stream(stream),
        progress(std::move(progress)) {}

  /// Makes the tiles of `weight`, which canMakeOnDevice() and whose matrices
  /// have `random`, at `to`, which has layoutBytes(): now or in a later call,
  /// in the stream's order. Errors: no such kernel; progress's, which is told
  /// of what has been made; the device's, which is given up where making does
  /// not end.
  Status linear(const LinearWeight &weight, DeviceAddress to);

  /// Makes what is left, and waits until all is there. Errors: the same.
  Status finish();

private:
  Device &device;
  KernelLibrary &kernels;
  Stream stream;
  WeightUpload::Progress progress;
  // Of weights that are not made yet.
  std::vector<GraphNode> nodes;
  std::string first; ///< the name of the first
  uint64_t bytes = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H
