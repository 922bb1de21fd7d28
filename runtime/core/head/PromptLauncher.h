//===- PromptLauncher.h - launches the rows of prompts in chunks ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_PROMPTLAUNCHER_H
#define SLUICE_RUNTIME_CORE_HEAD_PROMPTLAUNCHER_H

#include "runtime/core/PromptTimes.h"
#include "runtime/core/head/CertainLauncher.h"
#include "runtime/core/head/RequestPages.h"

namespace sluice {

/// Divides the known rows of requests that begin among steps, and launches
/// them. Thread-compatible.
class PromptLauncher {
public:
  PromptLauncher(const HeadLimits &limits, const StepTimes &predicted,
                 RequestTable &requests, RequestPages &pages,
                 FramesUnderWay &frames, SlotOccupancy &slots,
                 const CertainLauncher &certain, HeadCommands &commands);

  /// Queues the request's known rows behind those of earlier queue priorities.
  void add(const HeadRequest &request);
  /// Takes a request out of the queue, if it is there.
  void remove(const HeadRequest &request);
  /// Changes the queue priority of a request, whether it is in the queue or
  /// not.
  void setQueuePriority(HeadRequest &request,
                        const QueuePriority &queuePriority);

  /// Learns from the answer how long a step took.
  void measure(const ResultFrame &answer);
  /// Fills steps with prompt rows. Half of each step, and at least one row,
  /// goes to the request with the earliest queue priority, so that it always
  /// advances. The rest goes to the requests that are done soonest, so that
  /// short prompts do not wait for long ones. The first step also has the rows
  /// of `frame`, if that is not null. A frame that is returned has no slot yet.
  StepFrame *launch(StepFrame *frame, Time now);

private:
  /// What a step contains so far, and what prompt rows it can still take.
  struct Step {
    int64_t rows = 0;
    int64_t positions = 0;        ///< the sum over all its rows
    int64_t room = 0;             ///< for prompt rows
    int64_t outputs = 0;          ///< for prompt rows that want an output
    std::optional<Time> max = {}; ///< the longest time that the step may take
  };

  bool mayLaunch(bool joinsFrame, Time now);
  Step planStep() const;
  int64_t rowsThatFit(const Step &step, const HeadRequest &request) const;
  HeadRequest *soonestDone(const Step &step);
  StepFrame &frameToOpenIn(StepFrame *frame, const HeadRequest &request,
                           Time now);
  void addKnownRows(Step &step, HeadRequest &request, StepFrame &frame,
                    int64_t max);
  void open(HeadRequest &request, StepFrame &frame);
  int64_t launchKnownRows(HeadRequest &request, StepFrame &frame, int64_t max);

  const HeadLimits &limits;
  RequestTable &requests;
  RequestPages &pages;
  FramesUnderWay &frames;
  SlotOccupancy &slots;
  const CertainLauncher &certain;
  HeadCommands &commands;
  PromptTimes times;
  /// Requests with known rows to send, sorted by queue priority.
  std::vector<RequestId> queue;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_PROMPTLAUNCHER_H
