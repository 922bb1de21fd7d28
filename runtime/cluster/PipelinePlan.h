//===- PipelinePlan.h - where a target's stages and its draft go ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the stages of a target, its draft and the head go on a cluster. The
// compiler, emulated runs and the simulator all ask here, so that what one of
// them accepts and measures is what the others do.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H
#define SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H

#include "runtime/cluster/Partition.h"

#include <optional>
#include <vector>

namespace sluice::cluster {

struct PipelinePlanOptions {
  /// Exactly so many; 0: as many as serve a request fastest.
  int64_t stages = 0;
  /// Where the draft runs, if there is one, and the head with it: on the node
  /// that is kept for them, or beside the first stage on its device.
  bool ownDraftRank = true;
  /// Positions that a row attends to, for times.
  int64_t context = 1024;
  /// Positions that the caches must hold, for memory.
  int64_t cachePositions = 1024;
  int64_t draftCachePositions = 1024;
  /// The chance that a guess comes true, in [0, 1). Without a draft nothing
  /// follows the certain row, as with a chance of 0.
  double acceptance = 0.8;
  /// Bytes of an activation on a link: 2 or 4.
  int64_t activationBytes = 4;
};

struct PipelinePlan {
  /// The first stage's memory includes that of a draft beside it.
  Partition partition;
  /// Of the head and the draft, where they have a rank of their own.
  std::optional<Place> ownRank;
  std::vector<StageCost> stageCosts;
  std::optional<StageCost> draftCost; ///< where somebody guesses
  /// [from][to] by rank: how messages go. What a rank tells itself takes no
  /// time; nor would it between two that never send each other anything, which
  /// need no way.
  std::vector<Link> links;

  Place firstStage() const { return partition.stages.front().place; }
  /// Where head and draft are.
  Place head() const { return ownRank.value_or(firstStage()); }
  /// By rank: that of head and draft where it is one of its own, then the
  /// stages'.
  std::vector<Place> ranks() const;

  /// The most rows of a prompt that a step can have, `rows` at most, so that no
  /// stretch between two checkpoints exceeds `maxLatency`: at a stage or at the
  /// draft, which is given the same rows.
  int64_t stepRows(Time maxLatency, int64_t rows, int64_t context) const;
};

/// Seconds that a row is on links, from the head through the stages in order
/// and back; `rowBytes` are its activations'. Nothing where there is no way.
std::optional<double> linksSeconds(const Cluster &cluster, Place head,
                                   const std::vector<Place> &stages,
                                   int64_t rowBytes);

/// `draft` is null where nobody guesses. Errors: those of partition(), which
/// sees to it that ranks have ways to those that they send anything; a draft
/// that is to have a rank of its own, and no node is kept for it; too little
/// memory for the draft, with what is missing; a device far too slow for it.
Expected<PipelinePlan> planPipeline(const ModelCost &target,
                                    const ModelCost *draft,
                                    const Cluster &cluster,
                                    const PipelinePlanOptions &options);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H
