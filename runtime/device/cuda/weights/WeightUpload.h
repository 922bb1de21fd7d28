//===- WeightUpload.h - uploads weights from mapped files to the device ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays weights out in two buffers of page-locked memory, piece by piece: one
// buffer is filled while the other is being copied.
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

/// Returns the shape and kind of the weight on the device. Errors: a format
/// without kernels, a shape that has no layout, a transposed weight of a
/// quantised format.
Expected<WeightSpec> weightSpec(const LinearWeight &weight);

/// Sends weights to the device in pieces of a few MiB. Used by one thread.
class WeightUpload {
public:
  /// Called with the number of bytes that have been laid out since the last
  /// call. An error that it returns ends the upload.
  using Progress = std::function<Status(uint64_t bytes)>;

  /// Keeps references to all arguments. Error: no page-locked memory.
  static Expected<std::unique_ptr<WeightUpload>> create(Device &device,
                                                        Stream stream,
                                                        cpu::ThreadPool &pool,
                                                        Progress progress);
  ~WeightUpload();

  /// Sends the tiles of `weight` to `to`, which has layoutBytes(). `asHalves`
  /// says that products will multiply its quants by their scales to f16
  /// (DenseLinear.h); a number out of the range of f16 is then an error. Other
  /// errors: a number that is not finite; an error of `progress`; those of the
  /// device.
  Status linear(const LinearWeight &weight, DeviceAddress to,
                bool asHalves = false);
  /// Sends the numbers of `weight` as f32.
  Status vector(const VectorWeight &weight, DeviceAddress to);
  /// Sends `bytes` bytes of host memory.
  Status bytes(const void *from, uint64_t bytes, DeviceAddress to);

  /// Waits until everything has arrived. Like all waits of this class, it gives
  /// the device up if that does not end.
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
