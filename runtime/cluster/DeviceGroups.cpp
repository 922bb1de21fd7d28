//===- DeviceGroups.cpp - tensor-parallel groups of devices ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/DeviceGroups.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cluster;

/// Returns a link with the worse latency and bandwidth of both.
static Link slower(const Link &a, const Link &b) {
  return {std::max(a.latencySeconds, b.latencySeconds),
          std::min(a.bytesPerSecond, b.bytesPerSecond)};
}

Expected<DeviceSpec> cluster::groupDevice(const Cluster &cluster,
                                          std::span<const Place> members) {
  DeviceSpec group = cluster.device(members.front());
  for (size_t m = 1; m < members.size(); ++m) {
    const DeviceSpec &device = cluster.device(members[m]);
    if (device.kind != group.kind)
      return failure("'", cluster.placeName(members.front()), "' and '",
                     cluster.placeName(members[m]),
                     "' are of different kinds, and cannot be of one group");
    group.memoryBytes = std::min(group.memoryBytes, device.memoryBytes);
    group.bytesPerSecond =
        std::min(group.bytesPerSecond, device.bytesPerSecond);
    group.flopsPerSecond =
        std::min(group.flopsPerSecond, device.flopsPerSecond);
    group.overheadSeconds =
        std::max(group.overheadSeconds, device.overheadSeconds);
    group.rowSeconds = std::max(group.rowSeconds, device.rowSeconds);
    if (device.weightSeconds.empty() != group.weightSeconds.empty())
      return failure("of '", cluster.placeName(members.front()), "' and '",
                     cluster.placeName(members[m]),
                     "' one has measured steps, and cannot be of one group "
                     "with the other");
    if (!group.weightSeconds.empty())
      group.weightSeconds =
          RowCurve::slower(group.weightSeconds, device.weightSeconds);
    for (Place other : members.first(m)) {
      std::optional<Link> link = cluster.link(other, members[m]);
      if (!link)
        return failure("there is no way between '", cluster.placeName(other),
                       "' and '", cluster.placeName(members[m]),
                       "', members of one group");
      group.peers = group.peers ? slower(*group.peers, *link) : *link;
    }
  }
  return group;
}

/// Chooses groups, within nodes if any node has enough devices.
static std::vector<std::vector<Place>> chooseGroups(const Cluster &cluster,
                                                    size_t members) {
  const std::vector<Place> &places = cluster.stagePlaces();
  auto devicesOf = [&](int32_t node) {
    return cluster.nodes()[size_t(node)].devices.size();
  };
  bool inNodes = std::ranges::any_of(
      places, [&](Place place) { return devicesOf(place.node) >= members; });
  std::vector<std::vector<Place>> groups;
  std::vector<Place> group;
  for (Place place : places) {
    if (inNodes && !group.empty() && group.front().node != place.node)
      group.clear();
    group.push_back(place);
    if (group.size() < members)
      continue;
    groups.push_back(std::move(group));
    group.clear();
    if (int64_t(groups.size()) == maxGroups)
      break;
  }
  return groups;
}

/// Links the groups as their first members are linked.
static Status addLinks(ClusterBuilder &builder, const Cluster &cluster,
                       const std::vector<std::vector<Place>> &groups,
                       const std::vector<std::string> &names) {
  for (size_t a = 0; a < groups.size(); ++a)
    for (size_t b = a + 1; b < groups.size(); ++b)
      if (std::optional<Link> link =
              cluster.link(groups[a].front(), groups[b].front()))
        SLUICE_RETURN_IF_ERROR(builder.addLink({names[a], names[b], *link}));
  return {};
}

Expected<GroupedCluster> cluster::groupDevices(const Cluster &cluster,
                                               int64_t members) {
  if (members == 1)
    return GroupedCluster{cluster, {}};
  std::vector<std::vector<Place>> groups =
      chooseGroups(cluster, size_t(members));
  if (groups.empty())
    return failure("there are no ", members,
                   " devices that could be a tensor-parallel group, only ",
                   cluster.stagePlaces().size());
  ClusterBuilder builder(cluster.name());
  std::vector<std::string> names;
  for (const std::vector<Place> &group : groups) {
    Expected<DeviceSpec> device = groupDevice(cluster, group);
    if (!device)
      return device.status();
    names.push_back("group" + std::to_string(names.size()));
    SLUICE_RETURN_IF_ERROR(builder.addNode({names.back(), {*device}, false}));
  }
  if (std::optional<Place> draft = cluster.draftPlace()) {
    groups.push_back({*draft});
    names.push_back(cluster.nodes()[size_t(draft->node)].name);
    SLUICE_RETURN_IF_ERROR(
        builder.addNode({names.back(), {cluster.device(*draft)}, true}));
  }
  SLUICE_RETURN_IF_ERROR(addLinks(builder, cluster, groups, names));
  Expected<Cluster> grouped = builder.finish();
  if (!grouped)
    return grouped.status();
  return GroupedCluster{grouped.take(), std::move(groups)};
}
