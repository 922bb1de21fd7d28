//===- DraftClient.h - requests guesses from the draft --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_DRAFTCLIENT_H
#define SLUICE_RUNTIME_CORE_HEAD_DRAFTCLIENT_H

#include "runtime/core/head/RequestTable.h"

namespace sluice {

/// Asks the draft what may follow the rows of the requests' trees, and adds its
/// answers to the trees. The draft has at most one frame at a time; Head.h says
/// how it is used in each mode. Thread-compatible.
class DraftClient {
public:
  DraftClient(const HeadLimits &limits, const SpeculationOptions &options,
              SpeculationPolicy &policy, RequestTable &requests,
              HeadCommands &commands);

  /// Sends the draft its next frame if it is idle and there is something to do.
  void ask();
  /// Takes the draft's answer. Returns whether it answers the present frame;
  /// other answers are ignored.
  bool takeAnswer(const GuessFrame &answer);

  /// Sync mode: returns whether the request's tree lacks nothing that the draft
  /// has still to answer, so that it can be launched.
  bool isComplete(const HeadRequest &request) const;

private:
  /// A row in the draft's present frame.
  struct AskedRow {
    RequestId request = 0;
    NodeId node = 0;
    int32_t position = 0;
    bool certain = false;
  };

  int64_t depthLimit(const HeadRequest &request) const;
  bool wantsGuesses(const HeadRequest &request) const;
  bool hasRoom() const;
  int64_t batchGuesses() const;

  void askFor(HeadRequest &request, StepFrame &frame, const Row &row);
  void askForPath(HeadRequest &request, StepFrame &frame, int64_t &room);
  void askForFrontier(StepFrame &frame);
  void askForLevel(HeadRequest &request, StepFrame &frame);
  void addRows(StepFrame &frame);

  void takeRow(const AskedRow &row, const GuessRow *guesses);
  void addCandidates(HeadRequest &request, int32_t parent,
                     const GuessRow &guesses);
  void endLevel(HeadRequest &request);

  const HeadLimits &limits;
  const SpeculationOptions &options;
  SpeculationPolicy &policy;
  RequestTable &requests;
  HeadCommands &commands;
  uint64_t framesSent = 0;
  bool isBusy = false;
  std::vector<AskedRow> asked; ///< the rows of the draft's present frame
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_DRAFTCLIENT_H
