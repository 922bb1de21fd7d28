//===- Cluster.h - the machines that a model is to run on -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machines that a model is to run on: nodes with devices, and the links
// between them. Read from a YAML file (ClusterFile.h), from the IR's DLTI spec
// (sluice/Analysis/ClusterSpec.h), or made for N equal nodes. The partitioner,
// the emulation and the simulator take their times from it.
//
// Units are SI inside: bytes, seconds, operations a second.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_CLUSTER_H
#define SLUICE_RUNTIME_CLUSTER_CLUSTER_H

#include "runtime/base/Status.h"
#include "runtime/cluster/RowCurve.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cluster {

/// Most nodes, devices of a node, switches, described links, and characters of
/// a name.
constexpr int64_t maxNodes = 256;
constexpr int64_t maxDevicesOfNode = 16;
constexpr int64_t maxSwitches = 256;
constexpr int64_t maxLinks = 16384;
constexpr int64_t maxNameLength = 64;

enum class DeviceKind : uint8_t { Cpu, Cuda };

/// "cpu" or "cuda".
std::string_view deviceKindName(DeviceKind kind);
std::optional<DeviceKind> parseDeviceKind(std::string_view name);

/// What a message takes: latency + bytes / bandwidth, the first for itself
/// alone, the second for all that wait behind it too.
struct Link {
  double latencySeconds = 0;
  double bytesPerSecond = 0; ///< positive
  bool operator==(const Link &) const = default;
};

/// What computes. Times follow from a roofline, or from what was measured: see
/// CostModel.h.
struct DeviceSpec {
  DeviceKind kind = DeviceKind::Cpu;
  /// For weights and cache; positive. The rows of steps and what guesses add to
  /// a cache are not counted.
  uint64_t memoryBytes = 0;
  double bytesPerSecond = 0;  ///< sustained reading of weights; positive
  double flopsPerSecond = 0;  ///< sustained in products; positive
  double overheadSeconds = 0; ///< of every step, whatever its rows
  double rowSeconds = 0;      ///< of every row of a step, beside its ops
  /// Where steps were measured: what a byte of weights takes, by the rows that
  /// it is multiplied with; empty: what the rates above say.
  RowCurve weightSeconds = {};
  /// Of a member of a group: the way to the others. No part of a description;
  /// groupDevice() makes it.
  std::optional<Link> peers = std::nullopt;
  bool operator==(const DeviceSpec &) const = default;
};

struct NodeSpec {
  std::string name; ///< letters, digits, '_', '-', '.'
  std::vector<DeviceSpec> devices;
  /// The head and the draft run here, and no stage does.
  bool draft = false;
  bool operator==(const NodeSpec &) const = default;
};

/// A link between two nodes, a node and a switch, or two switches, both ways.
struct NamedLink {
  std::string a, b;
  Link link;
};

/// A device, where one rank runs.
struct Place {
  int32_t node = 0;
  int32_t device = 0;
  bool operator==(const Place &) const = default;
};

/// Immutable, so thread-safe. ClusterBuilder makes it.
class Cluster {
public:
  const std::string &name() const { return clusterName; }
  const std::vector<NodeSpec> &nodes() const { return allNodes; }
  const Link &localLink() const { return local; }

  /// Where stages can be: every device but the draft node's, in order.
  const std::vector<Place> &stagePlaces() const { return places; }
  /// Where the draft and the head are, if a node is kept for them: the first
  /// device of that node.
  std::optional<Place> draftPlace() const { return draft; }

  const DeviceSpec &device(Place place) const {
    return allNodes[size_t(place.node)].devices[size_t(place.device)];
  }
  /// "n0", or "n0/1" where the node has several devices.
  std::string placeName(Place place) const;
  /// The place of that name; "n0" is also the first device of a node with
  /// several.
  std::optional<Place> findPlace(std::string_view name) const;

  /// How messages go from one place to another; nullopt: there is no path.
  /// Within a node, the local link.
  std::optional<Link> link(Place from, Place to) const;

  /// Whether nodes, names and the ways between all nodes are the same, however
  /// described.
  bool operator==(const Cluster &other) const;

private:
  friend class ClusterBuilder;
  Cluster() = default;

  std::string clusterName;
  std::vector<NodeSpec> allNodes;
  Link local{2e-6, 20e9};
  std::vector<Place> places;
  std::optional<Place> draft;
  std::vector<std::optional<Link>> ways; // [from][to], nodes
};

/// Puts a cluster together. Each call checks what it is given, so that a reader
/// of a description knows which line is wrong. Errors of all of them: a limit
/// above exceeded, a name that is empty, taken or of other characters, a number
/// that is not finite or out of its range.
class ClusterBuilder {
public:
  explicit ClusterBuilder(std::string name) { made.clusterName = name; }

  /// Errors: no device, a second draft node.
  Status addNode(NodeSpec node);
  /// A switch passes messages on.
  Status addSwitch(std::string name);
  /// Errors: an end that was not added, a link with itself, one that is there.
  Status addLink(NamedLink link);
  /// Between nodes that no link or path through switches connects.
  Status setDefaultLink(const Link &link);
  /// Between the devices of one node.
  Status setLocalLink(const Link &link);

  /// Finds the way between every two nodes: a link of their own, else the path
  /// through switches with the least latency (whose bandwidth is its narrowest
  /// link's), else the default link. Errors: no node that stages can be on.
  /// Once.
  Expected<Cluster> finish();

private:
  Status addName(const std::string &name, const char *what);
  std::optional<size_t> find(std::string_view name) const;

  Cluster made;
  std::optional<Link> defaultLink;
  std::vector<std::string> switches;
  std::vector<NamedLink> links;
};

/// What --stages N stands for without a description: N nodes as the device
/// says, or of so many such devices, joined by the link, and where `withDraft`
/// another for the draft. N in [1, maxNodes).
Expected<Cluster> makeEqualCluster(int64_t nodes, bool withDraft,
                                   const DeviceSpec &device, const Link &link,
                                   int64_t devicesOfNode = 1);

/// The device and the link of clusters that nobody described: about eight cores
/// of a desktop or server CPU of today (40 GB/s, 400 GFLOP/s) on 10 Gb/s
/// Ethernet. Its memory is no limit: the files are known to be on this machine.
DeviceSpec defaultDevice();
Link defaultLink();

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_CLUSTER_H
