//===- DeviceGroups.h - tensor-parallel groups of devices -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Supports tensor parallelism, in which a group of devices computes a stage
// together. To the cost model and the partitioner, a group is one device, as
// slow as its slowest member, whose ops can use the link between the members
// (DeviceSpec::peers).
//
//   Expected<GroupedCluster> groups = groupDevices(cluster, /*members=*/2);
//   Expected<Partition> cut = partition(model, groups->cluster, options);
//   groups->placesOf(cut->stages[0].place);   // two places of `cluster`
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_DEVICEGROUPS_H
#define SLUICE_RUNTIME_CLUSTER_DEVICEGROUPS_H

#include "runtime/cluster/Cluster.h"

#include <span>
#include <vector>

namespace sluice::cluster {

/// The largest number of groups that are made of a cluster.
constexpr int64_t maxGroups = 128;

/// Returns the device that a group is to a stage of which each member computes
/// a part. Its memory, bandwidth and so on are those of one member, the worst
/// of all; `peers` is the slowest link between two members. For a single
/// member, returns its device. Fails if the members are of different kinds,
/// only some have measured steps, or two have no path between them.
Expected<DeviceSpec> groupDevice(const Cluster &cluster,
                                 std::span<const Place> members);

/// A cluster whose nodes are the groups of another cluster's devices.
struct GroupedCluster {
  /// Has nodes "group0", "group1", ..., and the draft's node if there is one.
  /// For groups of one device, it is the original cluster.
  Cluster cluster;
  /// [node]; empty: groups of one device
  std::vector<std::vector<Place>> groups;

  /// Returns the places of a group, or of the draft, in the original cluster.
  std::vector<Place> placesOf(Place place) const {
    return groups.empty() ? std::vector{place} : groups[size_t(place.node)];
  }
};

/// Makes groups of `members` devices each, in the order of the cluster: of
/// devices of one node if any node has so many, else of devices of consecutive
/// nodes. Remaining devices are not used. The link between two groups is that
/// between their first members. Fails as groupDevice() does, or if there are
/// fewer devices than members.
Expected<GroupedCluster> groupDevices(const Cluster &cluster, int64_t members);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_DEVICEGROUPS_H
