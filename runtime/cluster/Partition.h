//===- Partition.h - the partition of a model into stages -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a model's layers into stages and places them on devices. The result is
// exact, by dynamic programming; PartitionTest compares it with an exhaustive
// search.
//
// Objective. Stage i on device d takes step_i: the time of a step of one row by
// the cost model, including the device's overhead. Its frames are sent beside
// the next step, so its slot is max(step_i, occupancy_i), where occupancy_i is
// the time that one row's activations keep its outgoing link busy. Stages are
// contiguous, each has at least one layer, the first has the embedding and the
// last the output layer, devices are used in the order of the cluster, and a
// stage's weights and cache fit its device.
//
// The head exchanges messages with every stage, so there must also be a path
// between the head and each of them.
//
// For each permitted number of stages S, the slowest slot is minimized. Among
// cuts with the same slowest slot, the one with the shortest trip is taken (the
// steps and the links from the head through the stages and back), and among
// those the most even one. Of all S, the one is taken for which the planning
// model predicts the most tokens per second:
//
//   (R + 1) / (trip + R * slowest),  R = a / (1 - a)
//
// where a is the chance that a guess is right: R guesses follow each certain
// row through the pipeline, one in each slot. More stages make slots shorter
// but not the trip, so fewer can be faster: with a = 0, the fewest that hold
// the model. Ties go to fewer stages.
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

/// The largest number of stages of a pipeline.
constexpr int64_t maxStages = 256;

struct PartitionOptions {
  /// The range of the number of stages, which is also limited by the devices.
  /// If both are equal, there are exactly so many.
  int64_t minStages = 1;
  int64_t maxStages = cluster::maxStages;
  /// Positions that a row attends to, for times.
  int64_t context = 1024;
  /// Positions that each layer's cache must hold, for memory.
  int64_t cachePositions = 1024;
  /// The chance that a guess is right, in [0, 1).
  double acceptance = 0.8;
  /// Bytes of an activation on a link: 2 or 4.
  int64_t activationBytes = 4;
  /// The place of the head; nullopt: that of the first stage.
  std::optional<Place> head = std::nullopt;
  /// Limits the search to some seconds. Counted in steps, so that every machine
  /// refuses the same inputs.
  int64_t searchSteps = 2'000'000'000;
};

struct StagePlan {
  Place place;
  StageRange range;
  double oneRowSeconds = 0; ///< step_i
  /// How long the link to the next stage is busy; 0 for the last stage.
  double occupancySeconds = 0;
  int64_t memoryBytes = 0;
  /// Why the stage ends where it does: "cut after layer 11: ..."; empty for the
  /// last stage.
  std::string reason;
};

struct Partition {
  std::vector<StagePlan> stages;
  double slowestSeconds = 0;
  double tripSeconds = 0;     ///< from the head through all stages and back
  double tokensPerSecond = 0; ///< as the planning model predicts
};

/// Fails if more stages are requested than there are layers or devices, if
/// memory is too small (says where, and how much is missing), if nodes that
/// must communicate have no path, if limits or options are out of range, or if
/// the search takes too long.
Expected<Partition> partition(const ModelCost &model, const Cluster &cluster,
                              const PartitionOptions &options);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PARTITION_H
