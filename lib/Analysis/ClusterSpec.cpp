//===- ClusterSpec.cpp - a cluster as a DLTI attribute --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/ClusterSpec.h"
#include "runtime/cluster/DeviceGroups.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace sluice;
using namespace sluice::cluster;

/// The key of the entry for links, the only entry that is no device, and the
/// keys in it.
static constexpr StringRef linksKey = "links";
static constexpr StringRef pairSeparator = " - ";

//===----------------------------------------------------------------------===//
// To the IR
//===----------------------------------------------------------------------===//

namespace {

/// Collects the entries of a DLTI attribute, in the order in which they are
/// added.
class Entries {
public:
  explicit Entries(MLIRContext *context) : builder(context) {}

  Builder &getBuilder() { return builder; }
  void add(const llvm::Twine &key, Attribute value) {
    entries.push_back(
        DataLayoutEntryAttr::get(builder.getStringAttr(key), value));
  }
  void add(const llvm::Twine &key, double value) {
    add(key, builder.getF64FloatAttr(value));
  }
  void add(const llvm::Twine &key, const RowCurve &curve) {
    Entries map(builder.getContext());
    for (const RowCurve::Point &point : curve.points())
      map.add(llvm::Twine(point.rows), point.seconds);
    add(key, MapAttr::get(builder.getContext(), map.get()));
  }
  void add(const llvm::Twine &key, const Link &link) {
    Entries map(builder.getContext());
    map.add("latency", link.latencySeconds);
    map.add("bandwidth", link.bytesPerSecond);
    add(key, MapAttr::get(builder.getContext(), map.get()));
  }
  ArrayRef<DataLayoutEntryInterface> get() const { return entries; }
  TargetDeviceSpecAttr getDevice() const {
    return TargetDeviceSpecAttr::get(builder.getContext(), entries);
  }

private:
  Builder builder;
  SmallVector<DataLayoutEntryInterface> entries;
};

} // namespace

static TargetDeviceSpecAttr toDeviceSpec(MLIRContext *context,
                                         const DeviceSpec &device, bool draft) {
  Entries entries(context);
  Builder &b = entries.getBuilder();
  entries.add("kind", b.getStringAttr(deviceKindName(device.kind)));
  entries.add("memory", b.getI64IntegerAttr(int64_t(device.memoryBytes)));
  entries.add("bandwidth", device.bytesPerSecond);
  entries.add("flops", device.flopsPerSecond);
  entries.add("overhead", device.overheadSeconds);
  entries.add("row_overhead", device.rowSeconds);
  if (!device.weightSeconds.empty())
    entries.add("weight_seconds", device.weightSeconds);
  if (draft)
    entries.add("draft", b.getBoolAttr(true));
  return entries.getDevice();
}

/// Returns the link that most pairs of nodes have, if all pairs are connected.
/// The other links are then written as exceptions from it.
static std::optional<Link> mostCommonLink(const Cluster &cluster) {
  std::map<std::pair<double, double>, int64_t> counts;
  int32_t nodes = int32_t(cluster.nodes().size());
  for (int32_t a = 0; a < nodes; ++a)
    for (int32_t b = a + 1; b < nodes; ++b) {
      std::optional<Link> link = cluster.link({a, 0}, {b, 0});
      if (!link)
        return std::nullopt;
      ++counts[{link->latencySeconds, link->bytesPerSecond}];
    }
  if (counts.empty())
    return std::nullopt;
  auto usual = llvm::max_element(
      counts, [](const auto &a, const auto &b) { return a.second < b.second; });
  return Link{usual->first.first, usual->first.second};
}

TargetSystemSpecAttr sluice::toSystemSpec(MLIRContext *context,
                                          const Cluster &cluster) {
  Entries entries(context);
  for (int32_t n = 0; n < int32_t(cluster.nodes().size()); ++n) {
    const NodeSpec &node = cluster.nodes()[size_t(n)];
    for (int32_t d = 0; d < int32_t(node.devices.size()); ++d)
      entries.add(cluster.placeName({n, d}),
                  toDeviceSpec(context, node.devices[size_t(d)], node.draft));
  }
  Entries links(context);
  links.add("cluster", links.getBuilder().getStringAttr(cluster.name()));
  links.add("local", cluster.localLink());
  std::optional<Link> usual = mostCommonLink(cluster);
  if (usual)
    links.add("default", *usual);
  for (int32_t a = 0; a < int32_t(cluster.nodes().size()); ++a)
    for (int32_t b = a + 1; b < int32_t(cluster.nodes().size()); ++b)
      if (std::optional<Link> link = cluster.link({a, 0}, {b, 0});
          link && link != usual)
        links.add(cluster.nodes()[size_t(a)].name + pairSeparator +
                      cluster.nodes()[size_t(b)].name,
                  *link);
  entries.add(linksKey, links.getDevice());
  return TargetSystemSpecAttr::get(context, entries.get());
}

//===----------------------------------------------------------------------===//
// From the IR
//===----------------------------------------------------------------------===//

namespace {

/// Reads the entries of a DLTI attribute and keeps the first error.
class Reader {
public:
  Reader(ArrayRef<DataLayoutEntryInterface> entries, std::string place,
         Status &status)
      : place(std::move(place)), status(status) {
    for (DataLayoutEntryInterface entry : entries)
      if (auto key = dyn_cast<StringAttr>(entry.getKey()))
        values[key.getValue()] = entry.getValue();
      else
        fail("has a key that is not a string");
  }
  ~Reader() {
    for (auto &[key, value] : values)
      fail("has an unknown key '", key.str(), "'");
  }

  template <typename AttrT> AttrT take(StringRef key, bool needed = true) {
    auto found = values.find(key);
    if (found == values.end()) {
      if (needed)
        fail("has no '", key.str(), "'");
      return {};
    }
    Attribute value = found->second;
    values.erase(found);
    auto typed = dyn_cast<AttrT>(value);
    if (!typed)
      fail("'", key.str(), "' is of another type");
    return typed;
  }
  void take(StringRef key, double &out) {
    if (auto value = take<FloatAttr>(key))
      out = value.getValueAsDouble();
  }
  void take(StringRef key, Link &out) {
    auto map = take<MapAttr>(key);
    if (!map)
      return;
    Reader reader(map.getEntries(), place + " '" + key.str() + "'", status);
    reader.take("latency", out.latencySeconds);
    reader.take("bandwidth", out.bytesPerSecond);
  }
  void take(StringRef key, RowCurve &out) {
    auto map = take<MapAttr>(key);
    if (!map)
      return;
    Reader reader(map.getEntries(), place + " '" + key.str() + "'", status);
    std::vector<RowCurve::Point> points;
    for (StringRef rows : reader.keys()) {
      RowCurve::Point &point = points.emplace_back();
      if (rows.getAsInteger(10, point.rows))
        reader.fail("has a key that is no number of rows: '", rows.str(), "'");
      reader.take(rows, point.seconds);
    }
    if (Expected<RowCurve> curve = RowCurve::create(std::move(points)))
      out = curve.take();
    else
      reader.fail(curve.status().message());
  }
  bool has(StringRef key) const { return values.contains(key); }
  /// Returns the keys that have not been read yet.
  SmallVector<StringRef> keys() const {
    return llvm::to_vector(llvm::make_first_range(values));
  }

  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure("dlti.target_system_spec: ", place, " ", parts...);
  }

private:
  llvm::MapVector<StringRef, Attribute> values;
  std::string place;
  Status &status;
};

} // namespace

static DeviceSpec readDevice(Reader &reader) {
  DeviceSpec device;
  if (auto kind = reader.take<StringAttr>("kind")) {
    if (auto known = parseDeviceKind(kind.getValue()))
      device.kind = *known;
    else
      reader.fail("is of the unknown kind '", kind.str(), "'");
  }
  if (auto memory = reader.take<IntegerAttr>("memory"))
    device.memoryBytes = memory.getValue().getLimitedValue();
  reader.take("bandwidth", device.bytesPerSecond);
  reader.take("flops", device.flopsPerSecond);
  reader.take("overhead", device.overheadSeconds);
  reader.take("row_overhead", device.rowSeconds);
  if (reader.has("weight_seconds"))
    reader.take("weight_seconds", device.weightSeconds);
  return device;
}

/// Adds the nodes to the builder, each with its devices in the order of their
/// numbers.
static Status readNodes(TargetSystemSpecAttr spec, ClusterBuilder &builder) {
  Status status;
  llvm::MapVector<StringRef, NodeSpec> nodes;
  for (DataLayoutEntryInterface entry : spec.getEntries()) {
    auto key = dyn_cast<StringAttr>(entry.getKey());
    auto device = dyn_cast<TargetDeviceSpecAttr>(entry.getValue());
    if (!key || !device)
      return failure("dlti.target_system_spec: an entry is not a device");
    if (key == linksKey)
      continue;
    auto [name, number] = key.getValue().split('/');
    NodeSpec &node = nodes[name];
    node.name = name.str();
    if (!number.empty() && number != std::to_string(node.devices.size()))
      return failure("dlti.target_system_spec: '", key.str(), "' should be '",
                     name.str(), "/", node.devices.size(), "'");
    Reader reader(device.getEntries(), "'" + key.str() + "'", status);
    node.devices.push_back(readDevice(reader));
    if (auto draft = reader.take<BoolAttr>("draft", /*needed=*/false))
      node.draft = draft.getValue();
  }
  for (auto &[name, node] : nodes)
    if (status.ok())
      status = builder.addNode(node).withContext("dlti.target_system_spec");
  return status;
}

Expected<Cluster> sluice::fromSystemSpec(TargetSystemSpecAttr spec) {
  Status status;
  TargetDeviceSpecAttr links;
  for (DataLayoutEntryInterface entry : spec.getEntries())
    if (auto key = dyn_cast<StringAttr>(entry.getKey()); key == linksKey)
      links = dyn_cast<TargetDeviceSpecAttr>(entry.getValue());
  if (!links)
    return failure("dlti.target_system_spec: there is no '", linksKey.str(),
                   "'");
  auto read = [&]() -> Expected<Cluster> {
    Reader reader(links.getEntries(), "'links'", status);
    auto name = reader.take<StringAttr>("cluster");
    ClusterBuilder builder(name ? name.str() : "");
    if (status = readNodes(spec, builder); !status.ok())
      return status;
    auto check = [&](const Status &added) {
      if (!added.ok())
        reader.fail(added.message());
    };
    Link link;
    if (reader.has("default")) {
      reader.take("default", link);
      check(builder.setDefaultLink(link));
    }
    reader.take("local", link);
    check(builder.setLocalLink(link));
    for (StringRef key : reader.keys()) {
      auto [a, b] = key.split(pairSeparator);
      if (b.empty())
        continue;
      reader.take(key, link);
      check(builder.addLink({a.str(), b.str(), link}));
    }
    return builder.finish();
  };
  // Readers report errors in their destructors, which run inside read(). So
  // `status` is checked only now.
  Expected<Cluster> cluster = read();
  return status.ok() ? std::move(cluster) : Expected<Cluster>(status);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

void sluice::setCluster(ModuleOp module, const Cluster &cluster) {
  module->setAttr(DLTIDialect::kTargetSystemDescAttrName,
                  toSystemSpec(module.getContext(), cluster));
}

bool sluice::hasCluster(ModuleOp module) {
  return module->hasAttrOfType<TargetSystemSpecAttr>(
      DLTIDialect::kTargetSystemDescAttrName);
}

Expected<Cluster> sluice::getCluster(ModuleOp module) {
  auto spec = module->getAttrOfType<TargetSystemSpecAttr>(
      DLTIDialect::kTargetSystemDescAttrName);
  if (!spec)
    return failure("the module describes no cluster: it has no ",
                   DLTIDialect::kTargetSystemDescAttrName.str());
  return fromSystemSpec(spec);
}

ir::PlaceAttr sluice::toPlaceAttr(MLIRContext *context, const Cluster &cluster,
                                  Place place) {
  return ir::PlaceAttr::get(context, cluster.nodes()[size_t(place.node)].name,
                            place.device);
}

Expected<Place> sluice::fromPlaceAttr(const Cluster &cluster,
                                      ir::PlaceAttr place) {
  for (size_t n = 0; n < cluster.nodes().size(); ++n) {
    const NodeSpec &node = cluster.nodes()[n];
    if (node.name == place.getNode() && place.getDevice() >= 0 &&
        place.getDevice() < int64_t(node.devices.size()))
      return Place{int32_t(n), int32_t(place.getDevice())};
  }
  return failure("the cluster '", cluster.name(), "' has no device ",
                 place.getDevice(), " on a node '", place.getNode().str(), "'");
}

Expected<DeviceSpec> sluice::deviceOf(const Cluster &cluster,
                                      ir::StageOp stage) {
  std::vector<Place> members;
  for (auto name : stage.getPlaces().getAsRange<ir::PlaceAttr>()) {
    Expected<Place> place = fromPlaceAttr(cluster, name);
    if (!place)
      return place.status();
    members.push_back(*place);
  }
  return groupDevice(cluster, members);
}
