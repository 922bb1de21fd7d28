//===- WeightMaker.h - makes random weights on the device -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For speed tests, a model's weights may be made from a seed
// (program/RandomWeights.h). The GPU makes most of them in place, in the tiles
// that WeightUpload would have sent, byte for byte.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H

#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

namespace sluice::cuda {

/// Returns whether a kernel makes the weight's tiles from the rows that
/// RandomRow.h describes. It must be a whole weight of a product or a table,
/// not transposed, in the format of the file, or in e4m3 made of a plain
/// format. All others are made on the host and sent: vectors, the parts of a
/// group's member, transposed weights, formats without kernels, e4m3 whose
/// scales lie apart, and other formats that weights are quantised to. `random`
/// of its matrices is ignored. A weight that is another one's partner is made
/// together with that one.
bool canMakeOnDevice(const CudaWeight &weight);

/// Runs the kernels that make weights, several weights at a time. Used by one
/// thread.
class WeightMaker {
public:
  /// Keeps references to all arguments.
  WeightMaker(Device &device, KernelLibrary &kernels, Stream stream,
              WeightUpload::Progress progress)
      : device(device), kernels(kernels), stream(stream),
        progress(std::move(progress)) {}

  /// Makes the tiles of `weight` at `to`, which has layoutBytes(); now or in a
  /// later call, in the order of the stream. canMakeOnDevice() must accept the
  /// weight, and its matrices must have `random`. Errors: there is no such
  /// kernel; an error of `progress`, which is called for what has been made;
  /// those of the device, which is given up if the work does not end.
  Status linear(const LinearWeight &weight, DeviceAddress to);

  /// Makes the remaining weights and waits for them. Errors: as in linear().
  Status finish();

private:
  Device &device;
  KernelLibrary &kernels;
  Stream stream;
  WeightUpload::Progress progress;
  // The weights that are not made yet.
  std::vector<GraphNode> nodes;
  std::string first; ///< the name of the first of them
  uint64_t bytes = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTMAKER_H
