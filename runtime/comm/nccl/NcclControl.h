//===- NcclControl.h - messages of the communicators themselves -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLCONTROL_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLCONTROL_H

#include "runtime/comm/nccl/NcclShared.h"

namespace sluice::comm {

/// How long the ranks have to report that NCCL or a device has failed, before
/// the job ends.
constexpr std::chrono::milliseconds tellingGrace{2000};

/// Sends the messages that are not the user's, over the base communicator, and
/// breaks the job. Thread-safe; called without NcclShared::mutex.
class NcclControl {
public:
  using Kind = NcclEnvelope::Kind;

  /// Both must outlive the object.
  NcclControl(Communicator &base, NcclShared &shared)
      : base(base), shared(shared) {}

  Status send(int64_t to, Kind kind, uint64_t first, uint64_t second,
              std::span<const uint8_t> body = {});
  /// Breaks the job with a failure that this rank has found, and tells the
  /// other ranks over the base communicator, which still works, so that they
  /// can report it before the job ends.
  void fail(const Status &status);

private:
  Communicator &base;
  NcclShared &shared;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLCONTROL_H
