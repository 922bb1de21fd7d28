//===- DeviceGroup.h - the group of GPUs that computes a program ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface through which an executor exchanges bytes with the other
// members of its group. comm/nccl/NcclGroup.h implements it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H

#include "runtime/device/cuda/driver/Driver.h"

#include <chrono>
#include <span>

namespace sluice::cuda {

/// One member's end of the group. All members have the same exchanges, in the
/// same order. One thread uses it, except for giveUp(). After an error it does
/// not work any more; exchanges that are in streams, and those of graphs that
/// are launched later, then come to an end, and no call here waits for that.
/// Outlives the graphs that it has put exchanges into.
class DeviceGroup {
public:
  /// A piece of memory on the member's device.
  struct Piece {
    DeviceAddress address = 0;
    uint64_t bytes = 0; ///< if 0, nothing is sent
  };

  virtual ~DeviceGroup() = default;

  virtual int32_t member() const = 0;
  virtual int32_t members() const = 0;

  /// Puts an exchange into `stream`: out[m] is sent to each other member m, and
  /// in[m] is filled with what member m sends to this one, which is as long.
  /// The entries of this member itself are ignored. Returns once the exchange
  /// is in the stream, without waiting for other members; the stream may be one
  /// that is being captured. Errors: those of the transport.
  virtual Status exchange(std::span<const Piece> out, std::span<const Piece> in,
                          Stream stream) = 0;

  /// Returns whether the group still works. Call it while an exchange is
  /// awaited, which otherwise may never end. Errors: the transport has failed,
  /// here or at another member that reports it; the error of giveUp().
  virtual Status check() = 0;
  /// Returns the longest time that a step may take from one exchange that is
  /// known to have ended to the next. When it is exceeded, another member is
  /// lost, even if check() has not noticed that.
  virtual std::chrono::nanoseconds patience() const = 0;
  /// Declares that a member is lost. The next check() fails with `reason`, and
  /// the exchanges in streams come to an end. Thread-safe.
  virtual void giveUp(const Status &reason) = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H
