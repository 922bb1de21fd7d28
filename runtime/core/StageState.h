//===- StageState.h - the state of a stage --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The private state of a Stage, with the parts of forming a step and of leaving
// it; see Stage.h.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STAGESTATE_H
#define SLUICE_RUNTIME_CORE_STAGESTATE_H

#include "runtime/core/BranchTable.h"
#include "runtime/core/Stage.h"
#include "runtime/core/StageMailbox.h"
#include "runtime/core/StageTree.h"
#include "runtime/core/StepRows.h"

#include <vector>

namespace sluice {

struct Stage::State {
  StageLimits limits;
  EpochBoard &board;
  CachePages &pages;
  StageMailbox mailbox;
  std::vector<StageTree> trees; ///< [request]
  BranchTable branches;
  StepRows rows;
  Counters counters;

  /// A shared page, and what the step in progress does with it.
  struct SharedEntry {
    static constexpr int32_t none = -1;
    int32_t page = none;   ///< the page of the cache; `none` if not pinned
    uint64_t pinnedIn = 0; ///< the last step that pinned it
    uint64_t usedIn = 0;   ///< the last step that opened a request with it
  };
  std::vector<SharedEntry> shared; ///< [shared page]
  int64_t pinned = 0;              ///< of these, pages that are pinned
  uint64_t launched = 0; ///< frames of the head that were taken completely

  /// The step in progress. Its number is never 0.
  uint64_t step = 0;
  bool inStep = false;
  std::vector<RequestId> touched; ///< requests with rows in the step
  std::vector<uint64_t> seenIn; ///< [request]: the last step that read its mark
  std::vector<uint64_t> rowsIn; ///< [request]: the last step with rows of it
  /// [request]: the last step that sent its mark.
  std::vector<uint64_t> markedIn;
  uint64_t seenChanges = 0;   ///< EpochBoard::changes() at the last check
  std::vector<uint8_t> alive; ///< [row]
  std::vector<Row> departed;  ///< rows that left the step
  /// Whether a device has chosen the rows that left.
  bool mayHaveOrphans = false;
  std::vector<Time> cancelsOfDeparted; ///< by the last checkpoint
  int64_t promptRows = 0;              ///< prompt rows in the step
  uint64_t promptFrame = 0;            ///< the frame of the last of these
  std::vector<SharedPage> unpins;
  std::vector<OpenRequest> opens;
  std::vector<PinPage> pins;
  std::vector<RequestId> closes;
  std::vector<StageTiming> timings;
  /// Pages of the cache, of a request to open.
  std::vector<int32_t> prefixPages;

  State(const StageLimits &limits, CachePages &pages, EpochBoard &board);

  /// Whether formStep() took all of a frame or row.
  enum class Taken : uint8_t { Yes, StepIsFull };

  Expected<Taken> takeFrame(WaitingFrame &waiting);
  Expected<Taken> begin(WaitingFrame &waiting);
  bool mustWait(const StepFrame &frame) const;
  void unpin(SharedPage page);
  Status open(OpenRequest &open);
  Status pin(const PinPage &pin);
  Expected<Taken> admit(const Row &row, RowOrigin origin);
  Expected<Taken> placeRow(StageTree &tree, const Row &row, RowOrigin origin);
  Expected<Taken> repeat(StageTree &tree, StageNode &known, const Row &row);
  void mirrorAncestors(StageTree &tree, const Row &row,
                       const BranchTable::BranchEnd &place);
  void look(StageTree &tree);
  void settle(StageTree &tree);
  Status arrange();

  void clearStep();
  bool judge();
  bool stays(const Row &row);
  void keepAncestors();
  std::optional<Time> cancelOf(const Row &dead);
  void findCancels();
  std::span<const RowMove> takeOut();
  bool findOrphans();
  void cutBack();

  StageTree &treeOf(const Row &row) { return trees[row.request]; }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STAGESTATE_H
