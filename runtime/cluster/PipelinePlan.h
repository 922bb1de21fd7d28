//===- PipelinePlan.h - the placement of stages, draft and head -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places a target's stages, its draft and the head on a cluster. The compiler,
// emulated runs and the simulator all use it, so they accept the same inputs
// and measure the same placement.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H
#define SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H

#include "runtime/cluster/Partition.h"

#include <optional>
#include <vector>

namespace sluice::cluster {

struct PipelinePlanOptions {
  /// The exact number of stages; 0: the number that serves a request fastest.
  int64_t stages = 0;
  /// Whether the draft, if there is one, runs with the head on the node that is
  /// kept for them; else they run beside the first stage on its device.
  bool ownDraftRank = true;
  /// Positions that a row attends to, for times.
  int64_t context = 1024;
  /// Positions that the caches must hold, for memory.
  int64_t cachePositions = 1024;
  int64_t draftCachePositions = 1024;
  /// The chance that a guess is right, in [0, 1). Without a draft it counts as
  /// 0, because nothing follows the certain row.
  double acceptance = 0.8;
  /// Bytes of an activation on a link: 2 or 4.
  int64_t activationBytes = 4;
};

struct PipelinePlan {
  /// The first stage's memory includes that of a draft beside it.
  Partition partition;
  /// The place of the head and the draft, if they have a rank of their own.
  std::optional<Place> ownRank;
  std::vector<StageCost> stageCosts;
  std::optional<StageCost> draftCost; ///< if there is a draft
  /// [from][to] by rank: the path of messages. It takes no time from a rank to
  /// itself, or between two ranks that never send messages to each other and
  /// may have no path.
  std::vector<Link> links;

  Place firstStage() const { return partition.stages.front().place; }
  /// Returns the place of the head and the draft.
  Place head() const { return ownRank.value_or(firstStage()); }
  /// Returns the places by rank: first that of head and draft if they have a
  /// rank of their own, then those of the stages.
  std::vector<Place> ranks() const;

  /// Returns the most rows of a prompt, at most `rows`, that a step can have so
  /// that no stretch between two checkpoints exceeds `maxLatency`, at any stage
  /// and at the draft, which gets the same rows.
  int64_t stepRows(Time maxLatency, int64_t rows, int64_t context) const;
};

/// Returns the seconds that a row spends on links, from the head through the
/// stages in order and back; `rowBytes` are the bytes of its activations.
/// Returns nullopt if there is no path.
std::optional<double> linksSeconds(const Cluster &cluster, Place head,
                                   const std::vector<Place> &stages,
                                   int64_t rowBytes);

/// `draft` is null if there is no draft. Fails as partition() does, which
/// checks that ranks have paths for their messages; also if the draft needs a
/// rank of its own and no node is kept for it, if memory is too small for the
/// draft (says how much is missing), or if a device is far too slow for it.
Expected<PipelinePlan> planPipeline(const ModelCost &target,
                                    const ModelCost *draft,
                                    const Cluster &cluster,
                                    const PipelinePlanOptions &options);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PIPELINEPLAN_H
