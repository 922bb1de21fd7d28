//===- DeviceGroups.h - devices that compute a stage together -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor parallelism: a stage on a group of devices. To the cost model and the
// partitioner a group is one device, as slow as its slowest member, whose ops
// can use the link between the members (Device::peers).
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

/// Most groups that are made of a cluster.
constexpr int64_t maxGroups = 128;

/// What a group of devices is to a stage that each member has a part of. Its
/// memory, bandwidth and so on are those of one member, the least of all; peers
/// is the slowest link between two of them. A single place is its device.
/// Errors: members of different kinds, of which some have measured steps and
/// others none, or with no way from one to another.
Expected<DeviceSpec> groupDevice(const Cluster &cluster,
                                 std::span<const Place> members);

/// A cluster whose nodes are groups of another's devices.
struct GroupedCluster {
  /// Nodes "group0", "group1", ..., and the draft's where there is one. In
  /// groups of one it is the other cluster.
  Cluster cluster;
  std::vector<std::vector<Place>> groups; ///< by node; empty: groups of one

  /// The places of a group, or of the draft, in the cluster that was grouped.
  std::vector<Place> placesOf(Place place) const {
    return groups.empty() ? std::vector{place} : groups[size_t(place.node)];
  }
};

/// Puts `members` devices each into groups, in the order of the cluster: of one
/// node as long as it has so many left, and only where no node has so many of
/// consecutive nodes. Devices that are left over are not used. Between two
/// groups goes the link between their first members. Errors: as groupDevice();
/// fewer devices than members.
Expected<GroupedCluster> groupDevices(const Cluster &cluster, int64_t members);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_DEVICEGROUPS_H
