//===- StepWatch.h - waits for a step and talks with it -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPWATCH_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPWATCH_H

#include "runtime/device/cuda/CudaModel.h"

#include <vector>

namespace sluice::cuda {

/// Waits for what runs in a program's stream. Meanwhile it tells the device
/// which rows have died, notes when rows have left at checkpoints, and checks
/// that the group still takes part. Host and device exchange this by flags in
/// the host's memory. Thread-compatible.
class StepWatch {
public:
  /// `model` must outlive the object.
  explicit StepWatch(CudaModel &model) : model(model) {}

  /// Takes the memory of the flags and puts their addresses into the context of
  /// the graphs, which must not have been made.
  Status allocate();

  /// Begins a step of `rows` rows, all of which live.
  void begin(int64_t rows);
  /// Notes that the step, which has been launched, has so many exchanges with
  /// the group; 0 once it has ended.
  void expectExchanges(int32_t count) { exchangesAwaited = count; }

  /// Waits until the stream has reached the last record(), which comes after
  /// the nodes `running`, launched `launches` times. `checkpoints` says which
  /// rows have died; it may be null. If the stream takes too long, the device
  /// is given up.
  Status await(device::CheckpointHandler *checkpoints,
               const NodeSequence *running = nullptr, int32_t launches = 1);
  /// Waits for a step that has failed but may still run, for instance because
  /// its group is lost. The step has as long to end as any other; its exchanges
  /// take no longer than in any other.
  void awaitIdle();

  /// Returns when the host noticed that rows had left at the checkpoint, which
  /// is counted from 1; now, if it had not noticed.
  Time whenSeen(int32_t checkpoint);

private:
  Status checkGroup(Time now);
  void tellDead();
  void lookAtCheckpoints();
  void noteSeen(int32_t checkpoint);

  CudaModel &model;
  PinnedMemory flags; ///< of living rows, and the two that follow
  /// The last checkpoint at which the device has removed rows.
  int32_t *passed = nullptr;
  /// The last exchange of the group that is known to have ended.
  int32_t *exchanged = nullptr;

  /// [row at the step's start]: 0 if the device has been told that the row is
  /// dead.
  std::vector<uint8_t> alive;
  /// [checkpoint - 1]: when the host noticed that rows had left there.
  std::vector<Time> seenAt;
  int32_t exchangesAwaited = 0; ///< exchanges of the step under way
  int32_t exchangesSeen = 0;    ///< the last that is known to have ended
  Time exchangeSeenAt{0};       ///< when it was seen; at first the step's start
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEP_STEPWATCH_H
