//===- Cluster.cpp - the machines that run a model ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Cluster.h"

#include <algorithm>
#include <limits>

using namespace sluice;
using namespace sluice::cluster;

std::string_view cluster::deviceKindName(DeviceKind kind) {
  return kind == DeviceKind::Cpu ? "cpu" : "cuda";
}

std::optional<DeviceKind> cluster::parseDeviceKind(std::string_view name) {
  for (DeviceKind kind : {DeviceKind::Cpu, DeviceKind::Cuda})
    if (deviceKindName(kind) == name)
      return kind;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isName(std::string_view name) {
  if (name.empty() || int64_t(name.size()) > maxNameLength)
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

static Status checkNumber(double value, double low, double high,
                          const char *what) {
  if (!(value >= low && value <= high))
    return failure(what, " ", value, " is not in [", low, ", ", high, "]");
  return {};
}

// Lower: a device that reads one byte a second; upper: far faster than any.
constexpr double minRate = 1, maxRate = 1e18;
constexpr double maxDelay = 10; // seconds
constexpr uint64_t maxMemory = uint64_t(1) << 60;

static Status checkDevice(const DeviceSpec &device) {
  if (device.memoryBytes == 0 || device.memoryBytes > maxMemory)
    return failure("memory ", device.memoryBytes, " B is not in [1, 2^60]");
  SLUICE_RETURN_IF_ERROR(
      checkNumber(device.bytesPerSecond, minRate, maxRate, "bandwidth in B/s"));
  SLUICE_RETURN_IF_ERROR(
      checkNumber(device.flopsPerSecond, minRate, maxRate, "FLOP/s"));
  SLUICE_RETURN_IF_ERROR(
      checkNumber(device.overheadSeconds, 0, maxDelay, "overhead in s"));
  return checkNumber(device.rowSeconds, 0, maxDelay, "row overhead in s");
}

static Status checkLink(const Link &link) {
  SLUICE_RETURN_IF_ERROR(
      checkNumber(link.latencySeconds, 0, maxDelay, "latency in s"));
  return checkNumber(link.bytesPerSecond, minRate, maxRate, "bandwidth in B/s");
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

namespace {

/// Nodes 0 .. nodes - 1 and the switches after them, with their links.
struct Graph {
  struct Edge {
    size_t to = 0;
    Link link;
  };
  size_t nodes = 0;
  std::vector<std::vector<Edge>> edges;
};

/// Returns the paths from `from` to every node through switches only, by
/// Dijkstra's algorithm on latency; of equal latencies, the wider path. A
/// direct link is always taken, however slow it is.
std::vector<std::optional<Link>> pathsFrom(const Graph &graph, size_t from) {
  auto better = [](const Link &a, const Link &b) {
    return a.latencySeconds != b.latencySeconds
               ? a.latencySeconds < b.latencySeconds
               : a.bytesPerSecond > b.bytesPerSecond;
  };
  std::vector<std::optional<Link>> best(graph.edges.size());
  std::vector<bool> done(graph.edges.size());
  best[from] = Link{0, std::numeric_limits<double>::infinity()};
  while (true) {
    size_t next = graph.edges.size();
    for (size_t v = 0; v < graph.edges.size(); ++v)
      if (best[v] && !done[v] &&
          (next == graph.edges.size() || better(*best[v], *best[next])))
        next = v;
    if (next == graph.edges.size())
      break;
    done[next] = true;
    if (next < graph.nodes && next != from)
      continue; // nodes do not pass messages on
    for (const Graph::Edge &edge : graph.edges[next]) {
      Link path{best[next]->latencySeconds + edge.link.latencySeconds,
                std::min(best[next]->bytesPerSecond, edge.link.bytesPerSecond)};
      if (!best[edge.to] || better(path, *best[edge.to]))
        best[edge.to] = path;
    }
  }
  for (const Graph::Edge &edge : graph.edges[from])
    best[edge.to] = edge.link;
  return best;
}

} // namespace

//===----------------------------------------------------------------------===//
// ClusterBuilder
//===----------------------------------------------------------------------===//

/// Returns the number of a node or switch; switches come after the nodes.
std::optional<size_t> ClusterBuilder::find(std::string_view name) const {
  for (size_t n = 0; n < made.allNodes.size(); ++n)
    if (made.allNodes[n].name == name)
      return n;
  for (size_t s = 0; s < switches.size(); ++s)
    if (switches[s] == name)
      return made.allNodes.size() + s;
  return std::nullopt;
}

Status ClusterBuilder::addName(const std::string &name, const char *what) {
  if (!isName(name))
    return failure("a ", what, "'s name '", name, "' is not 1 to ",
                   maxNameLength, " letters, digits, '_', '-' or '.'");
  // The IR stores the links between nodes under this key.
  if (name == "links")
    return failure("no ", what, " can be called 'links'");
  if (find(name))
    return failure("there are two nodes or switches '", name, "'");
  return {};
}

Status ClusterBuilder::addNode(NodeSpec node) {
  SLUICE_RETURN_IF_ERROR(addName(node.name, "node"));
  std::string what = "node '" + node.name + "'";
  if (int64_t(made.allNodes.size()) == maxNodes)
    return failure(what, ": a cluster has ", maxNodes, " nodes at most");
  if (node.devices.empty())
    return failure(what, " has no device");
  if (int64_t(node.devices.size()) > maxDevicesOfNode)
    return failure(what, " has more than ", maxDevicesOfNode, " devices");
  for (const DeviceSpec &device : node.devices)
    if (Status status = checkDevice(device); !status.ok())
      return status.withContext(what);
  int32_t number = int32_t(made.allNodes.size());
  if (node.draft && made.draft)
    return failure("'", made.allNodes[size_t(made.draft->node)].name, "' and '",
                   node.name, "' are both for the draft");
  if (node.draft)
    made.draft = Place{number, 0};
  else
    for (size_t d = 0; d < node.devices.size(); ++d)
      made.places.push_back({number, int32_t(d)});
  made.allNodes.push_back(std::move(node));
  return {};
}

Status ClusterBuilder::addSwitch(std::string name) {
  SLUICE_RETURN_IF_ERROR(addName(name, "switch"));
  if (int64_t(switches.size()) == maxSwitches)
    return failure("a cluster has ", maxSwitches, " switches at most");
  switches.push_back(std::move(name));
  return {};
}

Status ClusterBuilder::addLink(NamedLink link) {
  std::string what = "link '" + link.a + "' - '" + link.b + "'";
  for (const std::string &end : {link.a, link.b})
    if (!find(end))
      return failure(what, ": no node or switch is called '", end, "'");
  if (link.a == link.b)
    return failure(what, " joins a thing with itself");
  if (link.a > link.b)
    std::swap(link.a, link.b);
  for (const NamedLink &other : links)
    if (other.a == link.a && other.b == link.b)
      return failure(what, " is there twice");
  if (int64_t(links.size()) == maxLinks)
    return failure("a cluster has ", maxLinks, " described links at most");
  if (Status status = checkLink(link.link); !status.ok())
    return status.withContext(what);
  links.push_back(std::move(link));
  return {};
}

Status ClusterBuilder::setDefaultLink(const Link &link) {
  defaultLink = link;
  return checkLink(link).withContext("the default link");
}

Status ClusterBuilder::setLocalLink(const Link &link) {
  made.local = link;
  return checkLink(link).withContext("the local link");
}

Expected<Cluster> ClusterBuilder::finish() {
  if (made.places.empty())
    return failure("the cluster has no node for stages");
  Graph graph;
  graph.nodes = made.allNodes.size();
  graph.edges.resize(graph.nodes + switches.size());
  for (const NamedLink &link : links) {
    size_t a = *find(link.a), b = *find(link.b);
    graph.edges[a].push_back({b, link.link});
    graph.edges[b].push_back({a, link.link});
  }
  made.ways.resize(graph.nodes * graph.nodes);
  for (size_t from = 0; from < graph.nodes; ++from) {
    std::vector<std::optional<Link>> found = pathsFrom(graph, from);
    for (size_t to = 0; to < graph.nodes; ++to)
      made.ways[from * graph.nodes + to] = from == to  ? made.local
                                           : found[to] ? found[to]
                                                       : defaultLink;
  }
  return std::move(made);
}

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

std::string Cluster::placeName(Place place) const {
  const NodeSpec &node = allNodes[size_t(place.node)];
  return node.devices.size() == 1
             ? node.name
             : node.name + "/" + std::to_string(place.device);
}

std::optional<Place> Cluster::findPlace(std::string_view name) const {
  for (size_t n = 0; n < allNodes.size(); ++n) {
    if (allNodes[n].name == name)
      return Place{int32_t(n), 0};
    for (size_t d = 0; d < allNodes[n].devices.size(); ++d)
      if (Place place{int32_t(n), int32_t(d)}; placeName(place) == name)
        return place;
  }
  return std::nullopt;
}

std::optional<Link> Cluster::link(Place from, Place to) const {
  return ways[size_t(from.node) * allNodes.size() + size_t(to.node)];
}

bool Cluster::operator==(const Cluster &other) const {
  return clusterName == other.clusterName && allNodes == other.allNodes &&
         local == other.local && ways == other.ways;
}

Expected<Cluster> cluster::makeEqualCluster(int64_t nodes, bool withDraft,
                                            const DeviceSpec &device,
                                            const Link &link,
                                            int64_t devicesOfNode) {
  if (nodes < 1 || nodes >= maxNodes)
    return failure(nodes, " stages are not in [1, ", maxNodes - 1, "]");
  ClusterBuilder builder("local");
  Status status = builder.setDefaultLink(link);
  for (int64_t n = 0; n < nodes && status.ok(); ++n)
    status = builder.addNode(
        {"n" + std::to_string(n),
         std::vector<DeviceSpec>(size_t(devicesOfNode), device), false});
  if (withDraft && status.ok())
    status = builder.addNode({"draft", {device}, true});
  return status.ok() ? builder.finish() : Expected<Cluster>(status);
}

DeviceSpec cluster::defaultDevice() {
  return {.kind = DeviceKind::Cpu,
          .memoryBytes = maxMemory,
          .bytesPerSecond = 40e9,
          .flopsPerSecond = 400e9,
          .overheadSeconds = 20e-6,
          .rowSeconds = 0};
}

Link cluster::defaultLink() { return {30e-6, 1.25e9}; }
