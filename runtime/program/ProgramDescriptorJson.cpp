//===- ProgramDescriptorJson.cpp - the descriptor's JSON form -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramDescriptor.h"

#include <limits>
#include <nlohmann/json.hpp>

using namespace sluice;
using nlohmann::json;

namespace {

/// Reads the members of one JSON object. The first member that is missing or
/// of another type is the error; reading goes on with zeros after it, so that
/// callers check once at the end.
class Fields {
public:
  Fields(const json &object, std::string place, Status &status)
      : object(object), place(std::move(place)), status(status) {
    if (!object.is_object())
      fail("is not an object");
  }

  void read(const char *key, std::string &out) {
    if (const json *value = member(key)) {
      if (const std::string *text = value->get_ptr<const std::string *>())
        out = *text;
      else
        fail("'", key, "' is not a string");
    }
  }

  void read(const char *key, bool &out) {
    if (const json *value = member(key)) {
      if (const bool *flag = value->get_ptr<const bool *>())
        out = *flag;
      else
        fail("'", key, "' is not true or false");
    }
  }

  void read(const char *key, int64_t &out) {
    if (const json *value = member(key))
      if (!integer(*value, out))
        fail("'", key, "' is not a whole number within range");
  }

  void read(const char *key, uint64_t &out) {
    int64_t number = 0;
    read(key, number);
    if (number < 0)
      fail("'", key, "' is negative");
    out = uint64_t(number);
  }

  void read(const char *key, float &out) {
    if (const json *value = member(key)) {
      if (value->is_number())
        out = static_cast<float>(value->get<double>());
      else
        fail("'", key, "' is not a number");
    }
  }

  void read(const char *key, Format &out) {
    std::string name;
    read(key, name);
    if (!status.ok())
      return;
    if (std::optional<Format> format = parseFormat(name))
      out = *format;
    else
      fail("'", key, "' names an unknown format '", name, "'");
  }

  void read(const char *key, WeightUse &out) {
    std::string name;
    read(key, name);
    if (!status.ok())
      return;
    for (WeightUse use :
         {WeightUse::Linear, WeightUse::Rows, WeightUse::Vector})
      if (weightUseName(use) == name) {
        out = use;
        return;
      }
    fail("'", key, "' is '", name, "', not linear, rows or vector");
  }

  /// Calls `element(value, place)` for each element of an array.
  template <typename Fn> void readArray(const char *key, Fn element) {
    const json *value = member(key);
    if (!value)
      return;
    if (!value->is_array())
      return fail("'", key, "' is not an array");
    size_t index = 0;
    for (const json &item : *value)
      element(item, place + ": " + key + "[" + std::to_string(index++) + "]");
  }

  static bool integer(const json &value, int64_t &out) {
    if (const auto *number = value.get_ptr<const uint64_t *>()) {
      if (*number > uint64_t(std::numeric_limits<int64_t>::max()))
        return false;
      out = int64_t(*number);
      return true;
    }
    if (const auto *number = value.get_ptr<const int64_t *>()) {
      out = *number;
      return true;
    }
    return false;
  }

private:
  const json *member(const char *key) {
    if (!status.ok())
      return nullptr;
    auto found = object.find(key);
    if (found == object.end()) {
      fail("'", key, "' is missing");
      return nullptr;
    }
    return &*found;
  }

  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure(place, ": ", parts...);
  }

  const json &object;
  std::string place;
  Status &status;
};

void readWeight(const json &item, const std::string &place, Status &status,
                ProgramDescriptor &program) {
  WeightDescriptor weight;
  Fields fields(item, place, status);
  fields.read("name", weight.name);
  fields.read("file", weight.file);
  fields.read("offset", weight.offset);
  fields.read("bytes", weight.bytes);
  fields.read("rows", weight.rows);
  fields.read("cols", weight.cols);
  fields.read("stored", weight.stored);
  fields.read("format", weight.format);
  fields.read("transposed", weight.transposed);
  fields.read("use", weight.use);
  program.weights.push_back(std::move(weight));
}

void readRopeTable(const json &item, const std::string &place, Status &status,
                   ProgramDescriptor &program) {
  RopeTable table;
  Fields fields(item, place, status);
  fields.readArray("inverse_frequencies", [&](const json &value,
                                              const std::string &where) {
    if (!value.is_number()) {
      if (status.ok())
        status = failure(where, ": is not a number");
      return;
    }
    table.inverseFrequencies.push_back(static_cast<float>(value.get<double>()));
  });
  fields.read("attention_factor", table.attentionFactor);
  program.ropeTables.push_back(std::move(table));
}

void readScalars(Fields &fields, ProgramDescriptor &program) {
  fields.read("name", program.name);
  fields.read("architecture", program.architecture);
  fields.read("quantization", program.quantization);
  fields.read("cpu", program.cpu);
  fields.read("context_length", program.contextLength);
  fields.read("vocab_size", program.vocabSize);
  fields.read("hidden_size", program.hiddenSize);
  fields.read("layers", program.layers);
  fields.read("row_floats", program.rowFloats);
  fields.read("output_floats", program.outputFloats);
  fields.read("logits_offset", program.logitsOffset);
  fields.read("embedded", program.embedded);
}

void readArrays(Fields &fields, Status &status, ProgramDescriptor &program) {
  fields.readArray("caches", [&](const json &item, const std::string &place) {
    CacheShape shape;
    Fields cache(item, place, status);
    cache.read("kv_heads", shape.kvHeads);
    cache.read("head_dim", shape.headDim);
    program.caches.push_back(shape);
  });
  fields.readArray("rope_tables",
                   [&](const json &item, const std::string &place) {
                     readRopeTable(item, place, status, program);
                   });
  fields.readArray("files", [&](const json &item, const std::string &place) {
    ModelFile model;
    Fields file(item, place, status);
    file.read("path", model.path);
    file.read("size", model.size);
    file.read("identity", model.identity);
    program.files.push_back(std::move(model));
  });
  fields.readArray("weights", [&](const json &item, const std::string &place) {
    readWeight(item, place, status, program);
  });
  fields.readArray(
      "eos_tokens", [&](const json &item, const std::string &place) {
        int64_t token = -1;
        bool whole = Fields::integer(item, token);
        if ((!whole || token < 0 || token > INT32_MAX) && status.ok())
          status = failure(place, ": is not a token id");
        program.eosTokens.push_back(int32_t(token));
      });
  fields.readArray("phases", [&](const json &item, const std::string &place) {
    if (const std::string *phase = item.get_ptr<const std::string *>())
      program.phases.push_back(*phase);
    else if (status.ok())
      status = failure(place, ": is not a string");
  });
}

json arraysToJson(const ProgramDescriptor &program) {
  json object = json::object();
  for (const char *key : {"caches", "rope_tables", "files", "weights"})
    object[key] = json::array();
  for (const CacheShape &cache : program.caches)
    object["caches"].push_back(
        {{"kv_heads", cache.kvHeads}, {"head_dim", cache.headDim}});
  for (const RopeTable &table : program.ropeTables)
    object["rope_tables"].push_back(
        {{"inverse_frequencies", table.inverseFrequencies},
         {"attention_factor", table.attentionFactor}});
  for (const ModelFile &file : program.files)
    object["files"].push_back({{"path", file.path},
                               {"size", file.size},
                               {"identity", file.identity}});
  for (const WeightDescriptor &weight : program.weights)
    object["weights"].push_back({{"name", weight.name},
                                 {"file", weight.file},
                                 {"offset", weight.offset},
                                 {"bytes", weight.bytes},
                                 {"rows", weight.rows},
                                 {"cols", weight.cols},
                                 {"stored", formatInfo(weight.stored).name},
                                 {"format", formatInfo(weight.format).name},
                                 {"transposed", weight.transposed},
                                 {"use", weightUseName(weight.use)}});
  object["eos_tokens"] = program.eosTokens;
  object["phases"] = program.phases;
  return object;
}

} // namespace

Expected<ProgramDescriptor> ProgramDescriptor::parse(std::string_view text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded())
    return failure("program descriptor: is not JSON");
  Status status;
  ProgramDescriptor program;
  int64_t version = 0;
  Fields fields(root, "program descriptor", status);
  fields.read("format", version);
  if (status.ok() && version != formatVersion)
    return failure("program descriptor: is of format ", version,
                   "; this runtime reads format ", formatVersion);
  readScalars(fields, program);
  readArrays(fields, status, program);
  if (!status.ok())
    return status;
  if (status = program.validate(); !status.ok())
    return status;
  return program;
}

Expected<std::string> ProgramDescriptor::toJson() const {
  if (Status s = validate(); !s.ok())
    return s;
  json object = arraysToJson(*this);
  object.update({{"format", formatVersion},
                 {"name", name},
                 {"architecture", architecture},
                 {"quantization", quantization},
                 {"cpu", cpu},
                 {"context_length", contextLength},
                 {"vocab_size", vocabSize},
                 {"hidden_size", hiddenSize},
                 {"layers", layers},
                 {"row_floats", rowFloats},
                 {"output_floats", outputFloats},
                 {"logits_offset", logitsOffset},
                 {"embedded", embedded}});
  try {
    return object.dump();
  } catch (const json::exception &) {
    return failure("program descriptor: a name or path is not UTF-8");
  }
}
