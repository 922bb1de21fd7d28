//===- RankHeadLinks.h - carries out the commands of a rank's head --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_RANKHEADLINKS_H
#define SLUICE_RUNTIME_PIPELINE_RANK_RANKHEADLINKS_H

#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/StageWorker.h"
#include "runtime/pipeline/rank/RankSender.h"

namespace sluice::pipeline {

/// Sends the head's frames and marks to the other ranks and to the draft, and
/// records in the trace what the head does. Belongs to the head's thread.
class RankHeadLinks final : public HeadLinks {
public:
  /// All must outlive the links. `draftBoard` is the draft's own.
  RankHeadLinks(RankSender &sender, EpochBoard &board, EpochBoard &draftBoard,
                RoleTrace &trace)
      : sender(sender), board(board), draftBoard(draftBoard), trace(trace) {}

  /// Must be called before the head's thread starts, if there is a draft.
  void setDraft(StageWorker &worker) { draftWorker = &worker; }

  Status launch(const StepFrame &frame) override;
  Status draft(StepFrame frame) override;
  Status cancel(const EpochMark &mark, Time decided) override;
  void reported(const TokenEvent &token, Time at) override;
  void reported(const RequestEnd &end, Time at) override;
  void note(const PolicyNote &note, Time at) override;

private:
  RankSender &sender;
  EpochBoard &board, &draftBoard;
  RoleTrace &trace;
  StageWorker *draftWorker = nullptr;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_RANKHEADLINKS_H
