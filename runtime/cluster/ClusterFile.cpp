//===- ClusterFile.cpp - descriptions of clusters as YAML -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"

#include "runtime/base/MappedFile.h"
#include "runtime/cluster/Units.h"
#include "runtime/cluster/Yaml.h"
#include "runtime/cluster/YamlFields.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <map>

using namespace sluice;
using namespace sluice::cluster;

namespace {

constexpr int64_t maxModels = 1024;

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

ModelShape readModel(const YamlValue &value, const std::string &file,
                     Status &status) {
  ModelShape shape;
  YamlFields fields(value, file, "a model",
                    {"name", "layers", "hidden", "feed_forward", "heads",
                     "kv_heads", "head_dim", "vocab", "format",
                     "bits_per_weight", "gated", "tied"},
                    status);
  for (const char *key : {"name", "layers", "hidden", "feed_forward", "heads",
                          "kv_heads", "head_dim", "vocab"})
    fields.require(key);
  fields.read("name", shape.name);
  fields.read("layers", shape.layers);
  fields.read("hidden", shape.hidden);
  fields.read("feed_forward", shape.feedForward);
  fields.read("heads", shape.heads);
  fields.read("kv_heads", shape.kvHeads);
  fields.read("head_dim", shape.headDim);
  fields.read("vocab", shape.vocab);
  fields.read("gated", shape.gated);
  fields.read("tied", shape.tied);
  std::string format;
  fields.read("format", format);
  if (fields.has("format") == fields.has("bits_per_weight"))
    fields.fail(value.line, "a model needs either 'format' or "
                            "'bits_per_weight'");
  if (std::optional<double> bits = bitsOfFormat(format))
    shape.bitsPerWeight = *bits;
  else if (fields.has("format"))
    fields.fail(value.line, "'format' names an unknown format '", format, "'");
  fields.read("bits_per_weight", shape.bitsPerWeight);
  if (status.ok())
    if (Status valid = shape.validate(); !valid.ok())
      status = failureAt(file, value.line, valid.message());
  return shape;
}

std::vector<ModelShape> readModels(const std::vector<const YamlValue *> &items,
                                   const std::string &file, Status &status) {
  std::vector<ModelShape> models;
  for (const YamlValue *item : items) {
    ModelShape shape = readModel(*item, file, status);
    if (!status.ok())
      break;
    for (const ModelShape &other : models)
      if (other.name == shape.name)
        status = failureAt(file, item->line, "model '", shape.name,
                           "' is there twice");
    if (int64_t(models.size()) == maxModels)
      status = failureAt(file, item->line, "more than ", maxModels, " models");
    models.push_back(std::move(shape));
  }
  return models;
}

Expected<ModelShape> findShape(const std::vector<ModelShape> &models,
                               std::string_view name) {
  std::string known;
  for (const ModelShape &shape : models) {
    if (shape.name == name)
      return shape;
    known += (known.empty() ? "" : ", ") + shape.name;
  }
  return failure("no model '", name, "' is described",
                 known.empty() ? "" : ", only ", known);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// A node as it is written in the file.
struct WrittenNode {
  NodeSpec node;
  std::string like;
  int64_t line = 0;
};

/// Reads the measured steps of a device whose other keys were read.
RowCurve readSteps(const YamlValue &value, const std::string &file,
                   Status &status, const std::vector<ModelShape> &models,
                   const DeviceSpec &device) {
  YamlFields fields(value, file, "'steps'", {"model", "context", "times"},
                    status);
  std::string name;
  int64_t context = 0;
  for (const char *key : {"model", "context"})
    fields.require(key);
  fields.read("model", name);
  fields.read("context", context);
  std::vector<RowCurve::Point> points;
  for (const YamlValue *item : fields.list("times")) {
    YamlFields map(*item, file, "a time of 'steps'", {"rows", "time"}, status);
    RowCurve::Point &point = points.emplace_back();
    for (const char *key : {"rows", "time"})
      map.require(key);
    map.read("rows", point.rows);
    map.read("time", Quantity::Seconds, point.seconds);
  }
  Expected<ModelShape> model = findShape(models, name);
  if (!model)
    fields.fail(value.line, "'steps': ", model.status().message());
  // Rates that are not positive are refused later, with the device's node.
  if (!status.ok() || !(device.bytesPerSecond > 0 && device.flopsPerSecond > 0))
    return {};
  Expected<RowCurve> curve = RowCurve::fit(points);
  if (curve)
    curve = weightCurve(*curve, model->cost(), context, device);
  if (curve)
    return curve.take();
  fields.fail(value.line, "'steps': ", curve.status().message());
  return {};
}

DeviceSpec readDevice(const YamlValue &value, const std::string &file,
                      Status &status, const std::vector<ModelShape> &models) {
  DeviceSpec device;
  YamlFields fields(value, file, "a device",
                    {"kind", "memory", "bandwidth", "flops", "overhead",
                     "row_overhead", "steps"},
                    status);
  for (const char *key : {"kind", "memory", "bandwidth", "flops"})
    fields.require(key);
  std::string kind;
  fields.read("kind", kind);
  if (std::optional<DeviceKind> known = parseDeviceKind(kind))
    device.kind = *known;
  else
    fields.fail(value.line, "'kind' is '", kind, "', not cpu or cuda");
  double memory = 0;
  fields.read("memory", Quantity::Bytes, memory);
  // Checked first, because converting a larger number to an integer is
  // undefined.
  if (memory > 1e18)
    fields.fail(value.line, "'memory' is more than 1e18 B");
  else
    device.memoryBytes = uint64_t(memory);
  fields.read("bandwidth", Quantity::BytesPerSecond, device.bytesPerSecond);
  fields.read("flops", Quantity::FlopsPerSecond, device.flopsPerSecond);
  fields.read("overhead", Quantity::Seconds, device.overheadSeconds);
  fields.read("row_overhead", Quantity::Seconds, device.rowSeconds);
  if (const YamlValue *steps = value.find("steps"))
    device.weightSeconds = readSteps(*steps, file, status, models, device);
  return device;
}

WrittenNode readNode(const YamlValue &value, const std::string &file,
                     Status &status, const std::vector<ModelShape> &models) {
  WrittenNode written;
  written.line = value.line;
  YamlFields fields(value, file, "a node", {"name", "like", "devices", "draft"},
                    status);
  fields.require("name");
  fields.read("name", written.node.name);
  fields.read("like", written.like);
  fields.read("draft", written.node.draft);
  if (fields.has("like") == fields.has("devices"))
    fields.fail(value.line, "node '", written.node.name,
                "' needs either 'devices' or 'like'");
  else if (fields.has("devices"))
    for (const YamlValue *item : fields.list("devices"))
      written.node.devices.push_back(readDevice(*item, file, status, models));
  return written;
}

/// Gives every node with `like` the devices of the other node.
Status resolveLikes(std::vector<WrittenNode> &nodes, const std::string &file) {
  std::map<std::string_view, size_t> byName;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (!byName.emplace(nodes[n].node.name, n).second)
      return failureAt(file, nodes[n].line, "there are two nodes '",
                       nodes[n].node.name, "'");
  for (WrittenNode &node : nodes) {
    std::vector<std::string> way = {node.node.name};
    const WrittenNode *model = &node;
    while (!model->like.empty()) {
      auto found = byName.find(model->like);
      if (found == byName.end())
        return failureAt(file, model->line, "node '", model->node.name,
                         "' is like '", model->like, "', which is no node");
      model = &nodes[found->second];
      bool seen =
          std::find(way.begin(), way.end(), model->node.name) != way.end();
      way.push_back(model->node.name);
      if (seen) {
        std::string cycle;
        for (const std::string &name : way)
          cycle += (cycle.empty() ? "" : " -> ") + name;
        return failureAt(file, node.line, "nodes are like each other: ", cycle);
      }
    }
    node.node.devices = model->node.devices;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

void readLink(YamlFields &fields, Link &link) {
  for (const char *key : {"latency", "bandwidth"})
    fields.require(key);
  fields.read("latency", Quantity::Seconds, link.latencySeconds);
  fields.read("bandwidth", Quantity::BytesPerSecond, link.bytesPerSecond);
}

void readLinks(const YamlValue &value, const std::string &file, Status &status,
               ClusterBuilder &builder) {
  YamlFields fields(value, file, "'links'", {"default", "local", "between"},
                    status);
  auto check = [&](int64_t line, const Status &found) {
    if (!found.ok())
      fields.fail(line, found.message());
  };
  for (const char *key : {"default", "local"})
    if (const YamlValue *item = value.find(key)) {
      YamlFields map(*item, file, "a link", {"latency", "bandwidth"}, status);
      Link link;
      readLink(map, link);
      check(item->line, key[0] == 'd' ? builder.setDefaultLink(link)
                                      : builder.setLocalLink(link));
    }
  if (!fields.has("between"))
    return;
  for (const YamlValue *item : fields.list("between")) {
    YamlFields map(*item, file, "a link", {"nodes", "latency", "bandwidth"},
                   status);
    std::vector<const YamlValue *> ends = map.list("nodes");
    if (ends.size() != 2 || ends[0]->kind != YamlValue::Kind::Scalar ||
        ends[1]->kind != YamlValue::Kind::Scalar)
      return fields.fail(item->line, "'nodes' must be two names");
    NamedLink named{ends[0]->text, ends[1]->text, {}};
    readLink(map, named.link);
    check(item->line, builder.addLink(std::move(named)));
  }
}

/// Reads nodes, switches and links.
void readNodes(const YamlValue &root, YamlFields &fields,
               const std::string &file, Status &status,
               const std::vector<ModelShape> &models, ClusterBuilder &builder) {
  std::vector<WrittenNode> nodes;
  for (const YamlValue *item : fields.list("nodes"))
    nodes.push_back(readNode(*item, file, status, models));
  if (status.ok())
    status = resolveLikes(nodes, file);
  if (!status.ok())
    return;
  for (WrittenNode &node : nodes)
    if (Status added = builder.addNode(std::move(node.node)); !added.ok())
      return fields.fail(node.line, added.message());
  if (fields.has("switches"))
    for (const YamlValue *item : fields.list("switches"))
      if (Status added = builder.addSwitch(item->text); !added.ok())
        return fields.fail(item->line, added.message());
  if (const YamlValue *links = root.find("links"))
    readLinks(*links, file, status, builder);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<std::string> readText(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const uint8_t> bytes = file->bytes();
  if (int64_t(bytes.size()) > maxYamlBytes)
    return failure(path, ": longer than ", maxYamlBytes, " bytes");
  return std::string(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
}

/// Reads the models of a cluster's file: a list, or the name of a file beside
/// it.
std::vector<ModelShape> readModelsOf(const YamlValue &root, YamlFields &fields,
                                     const std::string &file, Status &status) {
  const YamlValue *value = root.find("models");
  if (!value || !status.ok())
    return {};
  if (value->kind != YamlValue::Kind::Scalar)
    return readModels(fields.list("models"), file, status);
  std::filesystem::path path =
      std::filesystem::path(file).parent_path() / value->text;
  Expected<std::vector<ModelShape>> models = readModelFile(path.string());
  if (models)
    return models.take();
  status = models.status().withContext(
      failureAt(file, value->line, "models").message());
  return {};
}

Status checkModelName(const ClusterFile &file, const std::string &name,
                      const char *key, const YamlValue &root,
                      const std::string &path) {
  if (name.empty() && !root.find(key))
    return {};
  Expected<ModelShape> shape = file.findModel(name);
  return shape ? Status()
               : failureAt(path, root.find(key)->line, "'", key,
                           "': ", shape.status().message());
}

} // namespace

Expected<ModelShape> ClusterFile::findModel(std::string_view name) const {
  return findShape(models, name);
}

Expected<std::vector<ModelShape>>
cluster::readModelFile(const std::string &path) {
  Expected<std::string> text = readText(path);
  if (!text)
    return text.status();
  Expected<YamlValue> root = parseYaml(*text, path);
  if (!root)
    return root.status();
  Status status;
  YamlFields fields(*root, path, "the file", {"models"}, status);
  if (!status.ok())
    return status;
  std::vector<ModelShape> models =
      readModels(fields.list("models"), path, status);
  if (!status.ok())
    return status;
  return models;
}

Expected<ClusterFile> cluster::parseClusterFile(std::string_view text,
                                                const std::string &name) {
  Expected<YamlValue> root = parseYaml(text, name);
  if (!root)
    return root.status();
  Status status;
  YamlFields fields(
      *root, name, "a cluster",
      {"name", "models", "target", "draft", "nodes", "switches", "links"},
      status);
  if (!status.ok())
    return status;
  std::string clusterName = std::filesystem::path(name).stem().string();
  fields.read("name", clusterName);
  ClusterBuilder builder(clusterName);
  std::vector<ModelShape> models = readModelsOf(*root, fields, name, status);
  readNodes(*root, fields, name, status, models, builder);
  std::string target, draft;
  fields.read("target", target);
  fields.read("draft", draft);
  if (!status.ok())
    return status;
  Expected<Cluster> cluster = builder.finish();
  if (!cluster)
    return cluster.status().withContext(name);
  ClusterFile file{cluster.take(), std::move(models), target, draft};
  for (auto [key, model] :
       {std::pair{"target", &file.target}, std::pair{"draft", &file.draft}})
    if (status = checkModelName(file, *model, key, *root, name); !status.ok())
      return status;
  return file;
}

Expected<ClusterFile> cluster::readClusterFile(const std::string &path) {
  Expected<std::string> text = readText(path);
  return text ? parseClusterFile(*text, path)
              : Expected<ClusterFile>(text.status());
}
