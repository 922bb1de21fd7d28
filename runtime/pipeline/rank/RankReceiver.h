//===- RankReceiver.h - reads the messages that arrive at a rank ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_RANKRECEIVER_H
#define SLUICE_RUNTIME_PIPELINE_RANK_RANKRECEIVER_H

#include "runtime/core/FrameCount.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/StageWorker.h"
#include "runtime/pipeline/rank/JobState.h"
#include "runtime/pipeline/rank/RankTraces.h"

#include <functional>

namespace sluice::pipeline {

/// What a rank has for the messages that arrive at it. All must outlive the
/// receiver.
struct RankInboxes {
  HeadLoop *head = nullptr;     ///< null on ranks other than 0
  StageWorker *stage = nullptr; ///< null where no steps may arrive
  EpochBoard &board;
  JobState &job;
  /// Ends the job: a message cannot be read, or another rank reports a failure.
  std::function<void(const Status &)> fail;
};

/// Decodes messages and gives them to the roles of the rank. Belongs to the
/// communicator's thread.
class RankReceiver {
public:
  /// `payloadRowBytes` is the size of a row that arrives in the stage's device;
  /// 0 if rows arrive in frames.
  RankReceiver(comm::Communicator &communicator, const comm::FrameCodec &codec,
               RankInboxes inboxes, int64_t payloadRowBytes, RoleTrace &trace)
      : comm(communicator), codec(codec), inboxes(std::move(inboxes)),
        payloadRowBytes(payloadRowBytes), trace(trace) {}

  /// Reads a message and returns its buffer. One that cannot be read, or has no
  /// place here, ends the job.
  void take(comm::Message message);

private:
  Status read(comm::Message &message);
  Status readStep(comm::Message &message);
  Status readEnd();
  Status readResults(const comm::Message &message);
  Status readEpochs(const comm::Message &message);
  Status readError(const comm::Message &message);
  Status readReport(const comm::Message &message);

  comm::Communicator &comm;
  const comm::FrameCodec &codec;
  RankInboxes inboxes;
  int64_t payloadRowBytes;
  RoleTrace &trace;
  /// Count received frames: those of the head or the stage before, and those of
  /// the last stage.
  FrameCount steps, results;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_RANKRECEIVER_H
