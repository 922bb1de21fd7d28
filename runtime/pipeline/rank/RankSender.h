//===- RankSender.h - sends the messages of a rank ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_RANKSENDER_H
#define SLUICE_RUNTIME_PIPELINE_RANK_RANKSENDER_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Frame.h"
#include "runtime/pipeline/RankSetup.h"
#include "runtime/pipeline/rank/RankTraces.h"

namespace sluice::pipeline {

/// Encodes the messages of a rank's roles and sends them. What is traced
/// belongs to the thread of its role: launch(), cancel(), forward() and
/// answer(). The others are thread-safe.
class RankSender {
public:
  /// All must outlive the sender.
  RankSender(const RankSetup &setup, const comm::FrameCodec &codec,
             comm::Communicator &communicator, RankTraces &traces)
      : setup(setup), codec(codec), comm(communicator), traces(traces) {}

  /// The head: sends a frame to the first stage.
  Status launch(const StepFrame &frame);
  /// The head: sends a mark to all other ranks, out of band.
  Status cancel(const EpochMark &mark, Time decided);
  /// Rank 0: sends the end to the first stage.
  Status launchEnd();

  /// The stage: sends rows to the next one; with the frame, or from device to
  /// device.
  Status forward(const StepFrame &frame, const comm::ActivationRows &rows);
  Status forward(const StepFrame &frame, const device::DeviceRows &rows);
  /// The stage: sends the end to the next one.
  Status forwardEnd();
  /// The last stage: sends its answers to the head.
  Status answer(const ResultFrame &frame);

  /// Tells the head why this rank has failed. If this message does not arrive
  /// either, the head misses this rank's heartbeat.
  void sendError(const Status &reason);
  /// Sends the head this rank's report.
  Status sendReport(const RankReport &report);

private:
  int64_t firstStage() const { return setup.shape.stageRanks.front(); }
  int64_t nextStage() const {
    return setup.shape.stageRanks[size_t(setup.stage) + 1];
  }
  Status sendData(int64_t to, comm::Bytes bytes, int64_t rows, uint64_t step,
                  RoleTrace &trace, int64_t emulatedBytes = 0);
  Status sendEnd(int64_t to);

  const RankSetup &setup;
  const comm::FrameCodec &codec;
  comm::Communicator &comm;
  RankTraces &traces;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_RANKSENDER_H
