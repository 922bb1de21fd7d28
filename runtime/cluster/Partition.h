//===- Partition.h - cutting a model into stages --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a model's layers into stages and puts them on devices. Exact, by dynamic
// programming; PartitionTest compares it with trying everything.
//
// The objective. Stage i on device d takes step_i: a step of one row by the
// cost model, with the device's overhead. Its frames go out beside the next
// step, so its slot is max(step_i, occupancy_i), the second the time that one
// row's activations keep its outgoing link busy. Stages are contiguous, each
// has a layer at least, the first has the embedding and the last the output
// layer, devices are used in the order of the cluster, and a stage's weights
// and cache fit its device.
//
// The head talks to every stage, whichever rows it has, and every stage to the
// head, so there must be a way between the head and each of them as well.
//
// For each number of stages S that is allowed, the slowest slot is made as
// short as can be; among cuts of the same slowest slot the one with the least
// trip (the steps and the links from the head through the stages and back) is
// taken, and among those the most even one. Of the S, the one is taken for
// which the planning model promises the most tokens a second:
//
//   (R + 1) / (trip + R * slowest),  R = a / (1 - a)
//
// a the chance that a guess comes true: R guesses follow each certain row
// through the pipe, one a slot. More stages make slots shorter and the trip no
// shorter, so fewer can be faster: with a = 0 the fewest that hold the model.
// Ties go to fewer stages.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_PARTITION_H
#define SLUICE_RUNTIME_CLUSTER_PARTITION_H

#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/CostModel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cluster {

/// Most stages of a pipeline.
constexpr int64_t maxStages = 256;

struct PartitionOptions {
  /// How many stages there may be: as many as devices at most. Equal: exactly
  /// so many.
  int64_t minStages = 1;
  int64_t maxStages = cluster::maxStages;
  /// Positions that a row attends to, for times.
  int64_t context = 1024;
  /// Positions that each layer's cache must hold, for memory.
  int64_t cachePositions = 1024;
  /// The chance that a guess comes true, in [0, 1): see above.
  double acceptance = 0.8;
  /// Bytes of an activation on a link: 2 or 4.
  int64_t activationBytes = 4;
  /// Where the head is; nullopt: with the first stage, wherever that is.
  std::optional<Place> head = std::nullopt;
  /// What the search may take: some seconds. Counted in steps, so that every
  /// machine refuses the same.
  int64_t searchSteps = 2'000'000'000;
};

struct StagePlan {
  Place place;
  StageRange range;
  double oneRowSeconds = 0;    ///< step_i
  double occupancySeconds = 0; ///< of the link to the next stage; last: 0
  int64_t memoryBytes = 0;
  /// Why it ends where it does: "cut after layer 11: ..."; the last one's is
  /// empty.
  std::string reason;
};

struct Partition {
  std::vector<StagePlan> stages;
  double slowestSeconds = 0;
  double tripSeconds = 0;     ///< from the head through all stages and back
  double tokensPerSecond = 0; ///< the planning model's
};

/// Errors: more stages asked for than layers or devices, too little memory
/// (says how much is missing and where), no path between nodes that would have
/// to talk, limits and options out of range, a search that takes too long.
Expected<Partition> partition(const ModelCost &model, const Cluster &cluster,
                              const PartitionOptions &options);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PARTITION_H
