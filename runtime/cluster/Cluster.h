//===- Cluster.h - the machines that run a model --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the machines that run a model: nodes with devices, and the links
// between them. A cluster is read from a YAML file (ClusterFile.h) or from the
// IR's DLTI spec (sluice/Analysis/ClusterSpec.h), or made of N equal nodes. The
// partitioner, the emulation and the simulator compute times from it.
//
// Units are SI: bytes, seconds, operations per second.
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

/// Limits: nodes, devices of a node, switches, described links, and characters
/// of a name.
constexpr int64_t maxNodes = 256;
constexpr int64_t maxDevicesOfNode = 16;
constexpr int64_t maxSwitches = 256;
constexpr int64_t maxLinks = 16384;
constexpr int64_t maxNameLength = 64;

enum class DeviceKind : uint8_t { Cpu, Cuda };

/// Returns "cpu" or "cuda".
std::string_view deviceKindName(DeviceKind kind);
std::optional<DeviceKind> parseDeviceKind(std::string_view name);

/// A link. A message takes latency + bytes / bandwidth. The latency delays only
/// the message itself; the rest also delays the messages behind it.
struct Link {
  double latencySeconds = 0;
  double bytesPerSecond = 0; ///< positive
  bool operator==(const Link &) const = default;
};

/// A device that computes. Times follow from a roofline or from measured steps;
/// see CostModel.h.
struct DeviceSpec {
  DeviceKind kind = DeviceKind::Cpu;
  /// For weights and cache; positive. The rows of steps, and the cache entries
  /// of guesses, are not counted.
  uint64_t memoryBytes = 0;
  double bytesPerSecond = 0;  ///< sustained reading of weights; positive
  double flopsPerSecond = 0;  ///< sustained in matrix products; positive
  double overheadSeconds = 0; ///< added to every step, whatever its rows
  double rowSeconds = 0;      ///< added for every row of a step
  /// If steps were measured: the time for a byte of weights, by the rows that
  /// it is multiplied with. Empty: the rates above hold.
  RowCurve weightSeconds = {};
  /// For a member of a group: the link to the other members. Not part of a
  /// description; groupDevice() sets it.
  std::optional<Link> peers = std::nullopt;
  bool operator==(const DeviceSpec &) const = default;
};

struct NodeSpec {
  std::string name; ///< letters, digits, '_', '-', '.'
  std::vector<DeviceSpec> devices;
  /// Whether the head and the draft run here, and no stage does.
  bool draft = false;
  bool operator==(const NodeSpec &) const = default;
};

/// A link between two nodes, a node and a switch, or two switches, both ways.
struct NamedLink {
  std::string a, b;
  Link link;
};

/// A device, on which one rank runs.
struct Place {
  int32_t node = 0;
  int32_t device = 0;
  bool operator==(const Place &) const = default;
};

/// Immutable, and therefore thread-safe. Made by ClusterBuilder.
class Cluster {
public:
  const std::string &name() const { return clusterName; }
  const std::vector<NodeSpec> &nodes() const { return allNodes; }
  const Link &localLink() const { return local; }

  /// Returns the places for stages: all devices but the draft node's, in order.
  const std::vector<Place> &stagePlaces() const { return places; }
  /// Returns the place of the draft and the head, if a node is kept for them:
  /// the node's first device.
  std::optional<Place> draftPlace() const { return draft; }

  const DeviceSpec &device(Place place) const {
    return allNodes[size_t(place.node)].devices[size_t(place.device)];
  }
  /// Returns "n0", or "n0/1" if the node has several devices.
  std::string placeName(Place place) const;
  /// Returns the place with this name; "n0" also means the first device of a
  /// node with several.
  std::optional<Place> findPlace(std::string_view name) const;

  /// Returns the path of messages from one place to another as one link; within
  /// a node, the local link. Returns nullopt if there is no path.
  std::optional<Link> link(Place from, Place to) const;

  /// Compares nodes, names and the paths between all nodes, however they were
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

/// Builds a cluster. Each call checks its arguments, so that a reader of a
/// description can report the line of an error. Every call fails if a limit
/// above is exceeded, a name is empty, taken or has other characters, or a
/// number is not finite or out of range.
class ClusterBuilder {
public:
  explicit ClusterBuilder(std::string name) { made.clusterName = name; }

  /// Also fails if there is no device, or for a second draft node.
  Status addNode(NodeSpec node);
  /// Adds a switch, which passes messages on.
  Status addSwitch(std::string name);
  /// Also fails if an end was not added, both ends are the same, or the link
  /// exists.
  Status addLink(NamedLink link);
  /// Sets the link between nodes that no link and no path through switches
  /// connects.
  Status setDefaultLink(const Link &link);
  /// Sets the link between the devices of one node.
  Status setLocalLink(const Link &link);

  /// Finds the path between every two nodes: their own link; else the path
  /// through switches with the least latency, whose bandwidth is that of its
  /// narrowest link; else the default link. Fails if there is no node for
  /// stages. Must be called once.
  Expected<Cluster> finish();

private:
  Status addName(const std::string &name, const char *what);
  std::optional<size_t> find(std::string_view name) const;

  Cluster made;
  std::optional<Link> defaultLink;
  std::vector<std::string> switches;
  std::vector<NamedLink> links;
};

/// Returns the cluster that --stages N means without a description: N equal
/// nodes with `devicesOfNode` such devices each, connected by the link, and
/// with `withDraft` another node for the draft. N is in [1, maxNodes).
Expected<Cluster> makeEqualCluster(int64_t nodes, bool withDraft,
                                   const DeviceSpec &device, const Link &link,
                                   int64_t devicesOfNode = 1);

/// Return the device and the link of clusters without a description: about
/// eight cores of a current desktop or server CPU (40 GB/s, 400 GFLOP/s) on 10
/// Gb/s Ethernet. Its memory is unlimited, because the model's files are known
/// to be on this machine.
DeviceSpec defaultDevice();
Link defaultLink();

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_CLUSTER_H
