//===- ProgramDescriptorJson.cpp - a program's JSON form ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescriptorJson.h"

using namespace sluice;

namespace {

/// Reads {"rows": [0, 128]} or {"columns": [...]}, or null for a whole weight.
void readSlice(const json &item, const std::string &place, Status &status,
               WeightSlice &slice) {
  if (item.is_null())
    return;
  slice.ofColumns = item.is_object() && item.contains("columns");
  DescriptorFields fields(item, place, status);
  fields.readArray(slice.ofColumns ? "columns" : "rows",
                   [&](const json &value, const std::string &where) {
                     int64_t &bound = slice.bounds.emplace_back();
                     if (!DescriptorFields::integer(value, bound) &&
                         status.ok())
                       status = failure(where, ": is not a whole number");
                   });
  if (status.ok() && slice.bounds.empty())
    fields.fail("has no ranges");
}

/// Reads the scales of a weight; null if it has none apart.
void readScales(const json &item, const std::string &place, Status &status,
                std::optional<ScalesDescriptor> &scales) {
  if (item.is_null())
    return;
  DescriptorFields fields(item, place, status);
  scales.emplace();
  fields.read("file", scales->file);
  fields.read("offset", scales->offset);
  fields.read("format", scales->format);
  fields.read("rows", scales->rows);
  fields.read("cols", scales->cols);
  fields.read("digest", scales->digest);
}

void readWeight(const json &item, const std::string &place, Status &status,
                ProgramDescriptor &program) {
  WeightDescriptor weight;
  DescriptorFields fields(item, place, status);
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
  fields.read("partner", weight.partner);
  fields.readMember("slice", [&](const json &each, const std::string &where) {
    readSlice(each, where, status, weight.slice);
  });
  fields.readMember("scales", [&](const json &each, const std::string &where) {
    readScales(each, where, status, weight.scales);
  });
  fields.read("digest", weight.digest);
  program.weights.push_back(std::move(weight));
}

void readRopeTable(const json &item, const std::string &place, Status &status,
                   ProgramDescriptor &program) {
  device::RopeTable table;
  DescriptorFields fields(item, place, status);
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

json sliceToJson(const WeightSlice &slice) {
  if (slice.isWhole())
    return nullptr;
  return {{slice.ofColumns ? "columns" : "rows", slice.bounds}};
}

json digestToJson(const std::optional<uint64_t> &digest) {
  return digest ? json(formatIdentity(*digest)) : json();
}

json scalesToJson(const std::optional<ScalesDescriptor> &scales) {
  if (!scales)
    return nullptr;
  return {{"file", scales->file},
          {"offset", scales->offset},
          {"format", formatInfo(scales->format).name},
          {"rows", scales->rows},
          {"cols", scales->cols},
          {"digest", digestToJson(scales->digest)}};
}

json weightToJson(const WeightDescriptor &weight) {
  return {{"name", weight.name},
          {"file", weight.file},
          {"offset", weight.offset},
          {"bytes", weight.bytes},
          {"rows", weight.rows},
          {"cols", weight.cols},
          {"stored", formatInfo(weight.stored).name},
          {"format", formatInfo(weight.format).name},
          {"transposed", weight.transposed},
          {"use", weightUseName(weight.use)},
          {"partner", weight.partner},
          {"slice", sliceToJson(weight.slice)},
          {"scales", scalesToJson(weight.scales)},
          {"digest", digestToJson(weight.digest)}};
}

} // namespace

void sluice::readProgram(const json &item, const std::string &place,
                         Status &status, ProgramDescriptor &program) {
  DescriptorFields fields(item, place, status);
  fields.read("name", program.name);
  fields.read("target", program.target);
  fields.read("cpu", program.cpu);
  fields.read("context_length", program.contextLength);
  fields.read("vocab_size", program.vocabSize);
  fields.read("hidden_size", program.hiddenSize);
  fields.read("members", program.members);
  fields.read("first_layer", program.firstLayer);
  fields.read("layers", program.layers);
  fields.read("has_embedding", program.hasEmbedding);
  fields.read("has_output", program.hasOutput);
  fields.read("row_floats", program.rowFloats);
  fields.read("output_floats", program.outputFloats);
  fields.read("logits_offset", program.logitsOffset);
  fields.read("checkpoints", program.checkpoints);
  fields.read("step_rows", program.stepRows);
  fields.readArray("caches", [&](const json &each, const std::string &where) {
    device::CacheShape shape;
    DescriptorFields cache(each, where, status);
    cache.read("kv_heads", shape.kvHeads);
    cache.read("head_dim", shape.headDim);
    program.caches.push_back(shape);
  });
  fields.readArray("rope_tables",
                   [&](const json &each, const std::string &where) {
                     readRopeTable(each, where, status, program);
                   });
  fields.readArray("weights", [&](const json &each, const std::string &where) {
    readWeight(each, where, status, program);
  });
  fields.readMember("step", [&](const json &each, const std::string &where) {
    readStepPlan(each, where, status, program.step);
  });
}

json sluice::programToJson(const ProgramDescriptor &program) {
  json object = {{"name", program.name},
                 {"target", programTargetName(program.target)},
                 {"cpu", program.cpu},
                 {"context_length", program.contextLength},
                 {"vocab_size", program.vocabSize},
                 {"hidden_size", program.hiddenSize},
                 {"members", program.members},
                 {"first_layer", program.firstLayer},
                 {"layers", program.layers},
                 {"has_embedding", program.hasEmbedding},
                 {"has_output", program.hasOutput},
                 {"row_floats", program.rowFloats},
                 {"output_floats", program.outputFloats},
                 {"logits_offset", program.logitsOffset},
                 {"checkpoints", program.checkpoints},
                 {"step_rows", program.stepRows}};
  for (const char *key : {"caches", "rope_tables", "weights"})
    object[key] = json::array();
  for (const device::CacheShape &cache : program.caches)
    object["caches"].push_back(
        {{"kv_heads", cache.kvHeads}, {"head_dim", cache.headDim}});
  for (const device::RopeTable &table : program.ropeTables)
    object["rope_tables"].push_back(
        {{"inverse_frequencies", table.inverseFrequencies},
         {"attention_factor", table.attentionFactor}});
  for (const WeightDescriptor &weight : program.weights)
    object["weights"].push_back(weightToJson(weight));
  object["step"] = stepPlanToJson(program.step);
  return object;
}
