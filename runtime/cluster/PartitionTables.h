//===- PartitionTables.h - the search behind partition() ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search behind partition(): tables of what stages cost, and two passes of
// dynamic programming over them. Times are whole picoseconds here, so that sums
// are exact, ties are ties, and every machine finds the same cut.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_PARTITIONTABLES_H
#define SLUICE_RUNTIME_CLUSTER_PARTITIONTABLES_H

#include "runtime/cluster/Cluster.h"
#include "runtime/cluster/CostModel.h"
#include "runtime/cluster/Partition.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sluice::cluster {

/// Stages, each with its device and the layer behind its last one.
struct Cut {
  struct Stage {
    int64_t device = 0; ///< number in Cluster::stagePlaces()
    int64_t end = 0;
  };
  std::vector<Stage> stages;
  int64_t slowest = 0; ///< slot, with what the outgoing link takes
  int64_t trip = 0;    ///< steps and links, from the head and back
};

/// Error: a part of the model takes so long at `place` that it is a mistake.
/// What passes has times of steps and sums of them that fit 64 bits.
Status checkPartTimes(const ModelCost &model, const Cluster &cluster,
                      Place place, int64_t context);

class PartitionTables {
public:
  static constexpr int64_t impossible = std::numeric_limits<int64_t>::max();

  /// `model` may go afterwards, `cluster` is kept by reference. Errors: no
  /// layers, or too many; costs that do not fit the tables.
  static Expected<PartitionTables> create(const ModelCost &model,
                                          const Cluster &cluster,
                                          const PartitionOptions &options);

  const Cluster &cluster() const { return *machines; }
  Place place(int64_t d) const { return machines->stagePlaces()[size_t(d)]; }
  /// nullopt: with the first stage.
  std::optional<Place> head() const { return headPlace; }
  int64_t layers() const { return layerCount; }
  int64_t devices() const { return int64_t(steps.size()); }

  /// Of layers [first, end) on device `d`, with the embedding where it has the
  /// first layer and the output layer where it has the last: a step of one row.
  int64_t step(int64_t d, int64_t first, int64_t end) const {
    const DeviceSteps &on = steps[size_t(d)];
    return on.fixed + on.layers[size_t(end)] - on.layers[size_t(first)] +
           (first == 0 ? on.embedding : 0) +
           (end == layerCount ? on.output : 0);
  }
  /// Bytes that they need.
  int64_t memory(int64_t first, int64_t end) const;
  bool fits(int64_t d, int64_t first, int64_t end) const {
    return uint64_t(memory(first, end)) <=
           machines->device(place(d)).memoryBytes;
  }
  bool connected(int64_t from, int64_t to) const {
    return way(from, to).hop != impossible;
  }
  /// How long one row's activations occupy the link.
  int64_t occupancy(int64_t from, int64_t to) const {
    return way(from, to).occupancy;
  }

  /// For each number of stages up to `max`, the shortest that the slowest slot
  /// can be; `impossible` where no cut fits. Error: a search that is too long.
  Expected<std::vector<int64_t>> slowestByStages(int64_t max);

  /// Of the cuts into `stages` stages with no slot above `slowest`, which can
  /// be reached, the one of the shortest trip, and of those the most even one.
  /// Error: a search that is too long.
  Expected<Cut> shortestTrip(int64_t stages, int64_t slowest);

  /// No trip of so many stages is shorter: every part on the device that is
  /// fastest for it, every hop the shortest.
  int64_t minTrip(int64_t stages) const;

private:
  struct DeviceSteps {
    int64_t fixed = 0;           // overhead, and that of one row
    std::vector<int64_t> layers; // of [0, i)
    int64_t embedding = 0, output = 0;
  };
  struct Way {
    int64_t occupancy = 0;
    int64_t hop = impossible;
  };
  const Way &way(int64_t from, int64_t to) const {
    return ways[size_t(from * devices() + to)];
  }

  /// First stages from which the way back to the head is the same, wherever the
  /// last one is; one search is made for each. Where the head has a place of
  /// its own, that is all of them. Ways lead both ways.
  struct Ends {
    std::vector<int64_t> first; // from the head; impossible: not of these
    std::vector<int64_t> last;  // to the head, of several stages
    std::vector<int64_t> only;  // to the head, of the first stage itself
    /// Whether a stage on `d` that is not the first can talk to the head.
    bool reaches(int64_t d) const { return last[size_t(d)] != impossible; }
    int64_t back(int64_t stages, int64_t d) const {
      return (stages == 1 ? only : last)[size_t(d)];
    }
  };
  Status addDevice(const ModelCost &model, Place place,
                   const PartitionOptions &options);
  void findEnds();
  Status spend(int64_t steps);
  Status slowestFrom(const Ends &ends, std::vector<int64_t> &result);
  struct Score;
  struct State;
  struct Best;
  using States = std::vector<std::vector<State>>; // [stage][d][l]
  int64_t addStage(int64_t d, int64_t slowest, std::span<const State> reached,
                   std::span<State> now) const;
  Cut trace(const States &states, int64_t device) const;
  Status shortestFrom(const Ends &ends, int64_t stages, int64_t slowest,
                      Best &best);

  const Cluster *machines = nullptr;
  std::optional<Place> headPlace;
  int64_t layerCount = 0;
  std::vector<DeviceSteps> steps;
  std::vector<Way> ways; // [from][to]
  std::vector<Ends> allEnds;
  int64_t stepsLeft = 0;            // of the search
  std::vector<int64_t> layerMemory; // of [0, i)
  int64_t embeddingMemory = 0, outputMemory = 0, tiedMemory = 0;
};

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PARTITIONTABLES_H
