//===- PipelinePlan.cpp - the placement of stages, draft and head ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/PipelinePlan.h"

#include "runtime/cluster/PartitionTables.h"
#include "runtime/cluster/Units.h"

#include <algorithm>
#include <cassert>
#include <limits>

using namespace sluice;
using namespace sluice::cluster;

std::vector<Place> PipelinePlan::ranks() const {
  std::vector<Place> places;
  if (ownRank)
    places.push_back(*ownRank);
  for (const StagePlan &stage : partition.stages)
    places.push_back(stage.place);
  return places;
}

int64_t PipelinePlan::stepRows(Time maxLatency, int64_t rows,
                               int64_t context) const {
  int64_t max = rows;
  auto keep = [&](const StageCost &cost) {
    max = std::min(max, cost.checkpoints(maxLatency, rows, context).stepRows);
  };
  for (const StageCost &stage : stageCosts)
    keep(stage);
  if (draftCost)
    keep(*draftCost);
  return max;
}

/// Returns whether one rank sends messages to another. Rows go along the
/// stages; marks go from the head, rank 0, to all ranks; results, errors and
/// reports go back.
static bool talks(size_t from, size_t to) {
  return from != to && (from == 0 || to == 0 || to == from + 1);
}

static std::vector<Link> linksOf(const Cluster &cluster,
                                 const std::vector<Place> &ranks) {
  std::vector<Link> links;
  for (size_t from = 0; from < ranks.size(); ++from)
    for (size_t to = 0; to < ranks.size(); ++to) {
      Link &link =
          links.emplace_back(Link{0, std::numeric_limits<double>::infinity()});
      if (!talks(from, to))
        continue;
      std::optional<Link> way = cluster.link(ranks[from], ranks[to]);
      assert(way && "partition() takes no devices without ways");
      link = *way;
    }
  return links;
}

std::optional<double> cluster::linksSeconds(const Cluster &cluster, Place head,
                                            const std::vector<Place> &stages,
                                            int64_t rowBytes) {
  double sum = 0;
  bool connected = true;
  auto send = [&](Place from, Place to, int64_t bytes) {
    if (std::optional<Link> link = cluster.link(from, to))
      sum += linkSeconds(*link, bytes);
    else
      connected = false;
  };
  // A head beside a stage needs no message to it.
  if (head != stages.front())
    send(head, stages.front(), headMessageBytes);
  for (size_t s = 1; s < stages.size(); ++s)
    send(stages[s - 1], stages[s], rowBytes);
  if (head != stages.back())
    send(stages.back(), head, headMessageBytes);
  return connected ? std::optional(sum) : std::nullopt;
}

/// Returns the place on the node that is kept for the draft. Fails if it has no
/// room for `bytes`.
static Expected<Place> placeDraft(const Cluster &cluster, int64_t bytes) {
  std::optional<Place> place = cluster.draftPlace();
  if (!place)
    return failure("no node is marked 'draft: true', and the draft is to have "
                   "a rank of its own");
  uint64_t has = cluster.device(*place).memoryBytes;
  if (uint64_t(bytes) <= has)
    return *place;
  return failure("the draft needs ", formatBytes(double(bytes)), ", node '",
                 cluster.placeName(*place), "' has ", formatBytes(double(has)),
                 ": ", formatBytes(double(bytes) - double(has)), " too little");
}

Expected<PipelinePlan>
cluster::planPipeline(const ModelCost &target, const ModelCost *draft,
                      const Cluster &cluster,
                      const PipelinePlanOptions &options) {
  PartitionOptions wanted;
  if (options.stages > 0)
    wanted.minStages = wanted.maxStages = options.stages;
  wanted.context = options.context;
  wanted.cachePositions = options.cachePositions;
  wanted.acceptance = draft ? options.acceptance : 0;
  wanted.activationBytes = options.activationBytes;

  PipelinePlan plan;
  ModelCost whole = target;
  int64_t draftBytes = draft ? stageMemoryBytes(*draft, wholeModel(*draft),
                                                options.draftCachePositions)
                             : 0;
  if (draft && options.ownDraftRank) {
    Expected<Place> own = placeDraft(cluster, draftBytes);
    if (!own)
      return own.status();
    plan.ownRank = wanted.head = *own;
  } else {
    // The draft's memory goes with the first stage, wherever that will be.
    whole.embedding.memoryBytes += draftBytes;
  }
  Expected<Partition> cut = partition(whole, cluster, wanted);
  // If the target alone fits, the error names the draft.
  if (!cut && !plan.ownRank && draft && partition(target, cluster, wanted))
    return cut.status().withContext("with the draft's " +
                                    formatBytes(double(draftBytes)) +
                                    " beside the first stage");
  if (!cut)
    return cut.status();
  plan.partition = cut.take();
  for (const StagePlan &stage : plan.partition.stages)
    plan.stageCosts.emplace_back(target, stage.range,
                                 cluster.device(stage.place));
  plan.links = linksOf(cluster, plan.ranks());
  if (!draft)
    return plan;
  if (Status s = checkPartTimes(*draft, cluster, plan.head(), options.context);
      !s.ok())
    return s.withContext("the draft");
  plan.draftCost.emplace(*draft, wholeModel(*draft),
                         cluster.device(plan.head()));
  return plan;
}
