//===- PartitionTables.h - the search behind partition() ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search of partition(): tables of the costs of stages, and two passes of
// dynamic programming over them. Times are whole picoseconds, so that sums are
// exact, ties are ties, and every machine finds the same cut.
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

/// A cut: the stages, each with its device and the layer after its last one.
struct Cut {
  struct Stage {
    int64_t device = 0; ///< number in Cluster::stagePlaces()
    int64_t end = 0;
  };
  std::vector<Stage> stages;
  int64_t slowest = 0; ///< slot, including the outgoing link
  int64_t trip = 0;    ///< steps and links, from the head and back
};

/// Fails if a part of the model takes implausibly long at `place`. Otherwise,
/// times of steps and their sums fit 64 bits.
Status checkPartTimes(const ModelCost &model, const Cluster &cluster,
                      Place place, int64_t context);

class PartitionTables {
public:
  static constexpr int64_t impossible = std::numeric_limits<int64_t>::max();

  /// `model` is needed during the call only; `cluster` must outlive the result.
  /// Fails if there are no layers or too many, or if costs do not fit the
  /// tables.
  static Expected<PartitionTables> create(const ModelCost &model,
                                          const Cluster &cluster,
                                          const PartitionOptions &options);

  const Cluster &cluster() const { return *machines; }
  Place place(int64_t d) const { return machines->stagePlaces()[size_t(d)]; }
  /// Returns the head's place; nullopt: that of the first stage.
  std::optional<Place> head() const { return headPlace; }
  int64_t layers() const { return layerCount; }
  int64_t devices() const { return int64_t(steps.size()); }

  /// Returns the time of a step of one row of layers [first, end) on device
  /// `d`, with the embedding if `first` is 0 and the output layer if `end` is
  /// the last.
  int64_t step(int64_t d, int64_t first, int64_t end) const {
    const DeviceSteps &on = steps[size_t(d)];
    return on.fixed + on.layers[size_t(end)] - on.layers[size_t(first)] +
           (first == 0 ? on.embedding : 0) +
           (end == layerCount ? on.output : 0);
  }
  /// Returns the bytes that layers [first, end) need.
  int64_t memory(int64_t first, int64_t end) const;
  bool fits(int64_t d, int64_t first, int64_t end) const {
    return uint64_t(memory(first, end)) <=
           machines->device(place(d)).memoryBytes;
  }
  bool connected(int64_t from, int64_t to) const {
    return way(from, to).hop != impossible;
  }
  /// Returns how long one row's activations occupy the link.
  int64_t occupancy(int64_t from, int64_t to) const {
    return way(from, to).occupancy;
  }

  /// Returns, for each number of stages up to `max`, the smallest possible
  /// slowest slot; `impossible` if no cut fits. Fails if the search takes too
  /// long.
  Expected<std::vector<int64_t>> slowestByStages(int64_t max);

  /// Returns, of the cuts into `stages` stages with no slot above `slowest`,
  /// which must be possible, the one with the shortest trip, and of those the
  /// most even one. Fails if the search takes too long.
  Expected<Cut> shortestTrip(int64_t stages, int64_t slowest);

  /// Returns a lower bound of the trip with so many stages: every part on its
  /// fastest device, and every hop the shortest.
  int64_t minTrip(int64_t stages) const;

private:
  struct DeviceSteps {
    int64_t fixed = 0;           // overhead of a step and of its one row
    std::vector<int64_t> layers; // sum over layers [0, i)
    int64_t embedding = 0, output = 0;
  };
  struct Way {
    int64_t occupancy = 0;
    int64_t hop = impossible;
  };
  const Way &way(int64_t from, int64_t to) const {
    return ways[size_t(from * devices() + to)];
  }

  /// A set of first stages from which the way back to the head is the same,
  /// wherever the last stage is; there is one search for each set. If the head
  /// has a place of its own, the set has all. Links are alike in both
  /// directions.
  struct Ends {
    std::vector<int64_t> first; // from the head; impossible: not in the set
    std::vector<int64_t> last;  // to the head, if not the first stage
    std::vector<int64_t> only;  // to the head, if the only stage
    /// Returns whether a stage on `d` that is not the first can reach the head.
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
  int64_t stepsLeft = 0;            // steps that the search may still take
  std::vector<int64_t> layerMemory; // sum over layers [0, i)
  int64_t embeddingMemory = 0, outputMemory = 0, tiedMemory = 0;
};

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_PARTITIONTABLES_H
