//===- WeightUpload.h - weights from mapped files to the device -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are laid out piece by piece in two buffers of page-locked memory: one
// is filled while the other is on its way.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTUPLOAD_H
#define SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTUPLOAD_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

#include <functional>

namespace sluice::cuda {

/// How the weight lies on the device. Error: a format without kernels, a shape
/// that has no layout, a transposed weight of a quantised format.
Expected<WeightSpec> weightSpec(const LinearWeight &weight);

/// Sends pieces of a few MiB to the device. For one thread.
class WeightUpload {
public:
  /// Is called with how many bytes more are laid out. An error ends the upload
  /// with it.
  using Progress = std::function<Status(uint64_t bytes)>;

  /// Errors: no page-locked memory. All are referred to.
  static Expected<std::unique_ptr<WeightUpload>> create(Device &device,
                                                        Stream stream,
                                                        cpu::ThreadPool &pool,
                                                        Progress progress);
  ~WeightUpload();

  /// The tiles of `weight` to `to`, which has layoutBytes(). Error: a number
  /// that is not finite; progress's; the device's.
  /// With `asHalves` its quants are multiplied by their scales to f16, and an
  /// error is also what that does not have.
  Status linear(const LinearWeight &weight, DeviceAddress to,
                bool asHalves = false);
  /// The numbers of `weight` as f32.
  Status vector(const VectorWeight &weight, DeviceAddress to);
  /// `bytes` bytes of the host's memory.
  Status bytes(const void *from, uint64_t bytes, DeviceAddress to);

  /// Waits until everything has arrived. As everywhere here, the device is
  /// given up where that does not end.
  Status finish();

private:
  struct Buffer {
    HostMemory memory;
    Event sent = nullptr;
  };

  WeightUpload(Device &device, Stream stream, cpu::ThreadPool &pool,
               Progress progress);
  Status makeBuffers();
  Expected<Buffer *> nextBuffer();
  Status send(Buffer &buffer, DeviceAddress to, uint64_t bytes);
  Status tiles(const LinearWeight &weight, const WeightSpec &spec,
               int64_t firstTile, int64_t lastTile, bool asHalves, uint8_t *to);

  Device &device;
  Stream stream;
  cpu::ThreadPool &pool;
  Progress progress;
  Buffer buffers[2];
  int turn = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_WEIGHTS_WEIGHTUPLOAD_H
