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

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <initializer_list>
#include <map>

using namespace sluice;
using namespace sluice::cluster;

namespace {

constexpr int64_t maxModels = 1024;

/// Reads one map. The first thing that is wrong is the error; reading goes on
/// with what was there before, so that callers check once at the end.
class Fields {
public:
  Fields(const YamlValue &map, const std::string &file, const char *what,
         std::initializer_list<std::string_view> keys, Status &status)
      : map(map), file(file), what(what), status(status) {
    if (map.kind != YamlValue::Kind::Map)
      fail(map.line, what, " must be a map, found ", map.kindName());
    for (const YamlValue::Entry &entry : map.entries)
      if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
        std::string known;
        for (std::string_view key : keys)
          known += (known.empty() ? "" : ", ") + std::string(key);
        fail(entry.line, what, " has no '", entry.key, "': expected one of ",
             known);
      }
  }

  bool has(std::string_view key) const { return map.find(key); }

  /// The value of a key, which must be there.
  const YamlValue *require(std::string_view key) {
    const YamlValue *value = map.find(key);
    if (!value)
      fail(map.line, what, " needs '", key, "'");
    return value;
  }

  void read(std::string_view key, std::string &out) {
    if (const YamlValue *value = scalar(key))
      out = value->text;
  }
  void read(std::string_view key, bool &out) {
    if (const YamlValue *value = scalar(key)) {
      if (value->text == "true" || value->text == "false")
        out = value->text == "true";
      else
        fail(value->line, "'", key, "' is '", value->text,
             "', not true or false");
    }
  }
  void read(std::string_view key, int64_t &out) {
    if (const YamlValue *value = scalar(key)) {
      if (std::optional<int64_t> number = parseInteger(value->text))
        out = *number;
      else
        fail(value->line, "'", key, "' is '", value->text,
             "', not a whole number");
    }
  }
  void read(std::string_view key, double &out) {
    if (const YamlValue *value = scalar(key)) {
      if (std::optional<double> number = parseNumber(value->text))
        out = *number;
      else
        fail(value->line, "'", key, "' is '", value->text, "', not a number");
    }
  }
  void read(std::string_view key, Quantity quantity, double &out) {
    if (const YamlValue *value = scalar(key)) {
      Expected<double> number = parseQuantity(value->text, quantity);
      if (number)
        out = *number;
      else
        fail(value->line, "'", key, "': ", number.status().message());
    }
  }

  /// The items of a list that must be there, and not be empty.
  std::vector<const YamlValue *> list(std::string_view key) {
    std::vector<const YamlValue *> items;
    if (const YamlValue *value = require(key)) {
      if (value->kind != YamlValue::Kind::List || value->items.empty())
        fail(value->line, "'", key, "' must be a list that is not empty");
      for (const YamlValue &item : value->items)
        items.push_back(&item);
    }
    return items;
  }

  template <typename... Parts> void fail(int64_t line, const Parts &...parts) {
    if (status.ok())
      status = failureAt(file, line, parts...);
  }

private:
  const YamlValue *scalar(std::string_view key) {
    const YamlValue *value = map.find(key);
    if (value && value->kind != YamlValue::Kind::Scalar) {
      fail(value->line, "'", key, "' must be one value, found ",
           value->kindName());
      return nullptr;
    }
    return value;
  }

  const YamlValue &map;
  const std::string &file;
  const char *what;
  Status &status;
};

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

ModelShape readModel(const YamlValue &value, const std::string &file,
                     Status &status) {
  ModelShape shape;
  Fields fields(value, file, "a model",
                {"name", "layers", "hidden", "feed_forward", "heads",
                 "kv_heads", "head_dim", "vocab", "format", "bits_per_weight",
                 "gated", "tied"},
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

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// A node as it is written.
struct WrittenNode {
  Node node;
  std::string like;
  int64_t line = 0;
};

Device readDevice(const YamlValue &value, const std::string &file,
                  Status &status) {
  Device device;
  Fields fields(
      value, file, "a device",
      {"kind", "memory", "bandwidth", "flops", "overhead", "row_overhead"},
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
  // Checked before it becomes whole: the cast of a larger one is undefined.
  if (memory > 1e18)
    fields.fail(value.line, "'memory' is more than 1e18 B");
  else
    device.memoryBytes = uint64_t(memory);
  fields.read("bandwidth", Quantity::BytesPerSecond, device.bytesPerSecond);
  fields.read("flops", Quantity::FlopsPerSecond, device.flopsPerSecond);
  fields.read("overhead", Quantity::Seconds, device.overheadSeconds);
  fields.read("row_overhead", Quantity::Seconds, device.rowSeconds);
  return device;
}

WrittenNode readNode(const YamlValue &value, const std::string &file,
                     Status &status) {
  WrittenNode written;
  written.line = value.line;
  Fields fields(value, file, "a node", {"name", "like", "devices", "draft"},
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
      written.node.devices.push_back(readDevice(*item, file, status));
  return written;
}

/// Gives every node that is like another its devices.
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

void readLink(Fields &fields, Link &link) {
  for (const char *key : {"latency", "bandwidth"})
    fields.require(key);
  fields.read("latency", Quantity::Seconds, link.latencySeconds);
  fields.read("bandwidth", Quantity::BytesPerSecond, link.bytesPerSecond);
}

void readLinks(const YamlValue &value, const std::string &file, Status &status,
               ClusterBuilder &builder) {
  Fields fields(value, file, "'links'", {"default", "local", "between"},
                status);
  auto check = [&](int64_t line, const Status &found) {
    if (!found.ok())
      fields.fail(line, found.message());
  };
  for (const char *key : {"default", "local"})
    if (const YamlValue *item = value.find(key)) {
      Fields map(*item, file, "a link", {"latency", "bandwidth"}, status);
      Link link;
      readLink(map, link);
      check(item->line, key[0] == 'd' ? builder.setDefaultLink(link)
                                      : builder.setLocalLink(link));
    }
  if (!fields.has("between"))
    return;
  for (const YamlValue *item : fields.list("between")) {
    Fields map(*item, file, "a link", {"nodes", "latency", "bandwidth"},
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

/// Nodes, switches and links.
void readNodes(const YamlValue &root, Fields &fields, const std::string &file,
               Status &status, ClusterBuilder &builder) {
  std::vector<WrittenNode> nodes;
  for (const YamlValue *item : fields.list("nodes"))
    nodes.push_back(readNode(*item, file, status));
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

/// The models of a cluster's file: a list, or the name of a file beside it.
std::vector<ModelShape> readModelsOf(const YamlValue &root, Fields &fields,
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
  std::string known;
  for (const ModelShape &shape : models) {
    if (shape.name == name)
      return shape;
    known += (known.empty() ? "" : ", ") + shape.name;
  }
  return failure("no model '", name, "' is described",
                 known.empty() ? "" : ", only ", known);
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
  Fields fields(*root, path, "the file", {"models"}, status);
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
  Fields fields(
      *root, name, "a cluster",
      {"name", "models", "target", "draft", "nodes", "switches", "links"},
      status);
  if (!status.ok())
    return status;
  std::string clusterName = std::filesystem::path(name).stem().string();
  fields.read("name", clusterName);
  ClusterBuilder builder(clusterName);
  readNodes(*root, fields, name, status, builder);
  std::vector<ModelShape> models = readModelsOf(*root, fields, name, status);
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
