//===- DeviceGroup.h - the GPUs that compute a program together -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an executor needs of the other members of its group. It is implemented
// by comm/nccl/NcclGroup.h.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H

#include "runtime/device/cuda/driver/Driver.h"

#include <chrono>
#include <span>

namespace sluice::cuda {

/// One member's end. All members have the same exchanges, in the same order.
/// Used by one thread, but for giveUp(). After an error nothing works any more,
/// and exchanges that are in streams come to an end, as do those of graphs that
/// are launched later: no call here waits for that. Outlives the graphs that it
/// has put exchanges into.
class DeviceGroup {
public:
  /// Memory of the member's device.
  struct Piece {
    DeviceAddress address = 0;
    uint64_t bytes = 0; ///< 0: nothing travels
  };

  virtual ~DeviceGroup() = default;

  virtual int32_t member() const = 0;
  virtual int32_t members() const = 0;

  /// Puts into `stream`: out[m] goes to each other member m, and in[m] is
  /// filled with what that one gives to this, which is as long. What stands at
  /// this member's own place is not looked at. Waits until it is in the stream,
  /// not for other members; the stream may be a captured one. Errors: those of
  /// what carries the bytes.
  virtual Status exchange(std::span<const Piece> out, std::span<const Piece> in,
                          Stream stream) = 0;

  /// Whether all is well; to be asked while an exchange is waited for, which
  /// may never end otherwise. Errors: what carries the bytes has failed, also
  /// at another member, where it says so; giveUp()'s.
  virtual Status check() = 0;
  /// The longest that a step takes from an exchange that is known to have ended
  /// to the next such; then another member is lost, which check() may not
  /// notice.
  virtual std::chrono::nanoseconds patience() const = 0;
  /// Thread-safe: a member is lost. The next check() ends with `reason`, and
  /// what is in streams with it.
  virtual void giveUp(const Status &reason) = 0;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DEVICEGROUP_H
