//===- InfoCommand.cpp - the command `info` -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/JsonWriter.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/device/cpu/ProgramABI.h"

#include <cstdio>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::app;

namespace {

/// What the command tells, gathered before it is written in either form.
struct Info {
  ProgramDescriptor program;
  int64_t contextLength = 0;
  int64_t stepRows = 0;
  std::map<std::string_view, uint64_t> formatBytes; // as the model's files have
  uint64_t weightBytes = 0;                         // as kernels read them
  uint64_t cacheBytesPerToken = 0;
  uint64_t arenaBytes = 0;
  std::string cpuProblem; // empty: this CPU will do
  int64_t tokenizerTokens = 0;

  uint64_t cacheBytes() const {
    return cacheBytesPerToken * uint64_t(contextLength);
  }
};

uint64_t cacheBytesPerToken(const ProgramDescriptor &program) {
  uint64_t floats = 0;
  for (const CacheShape &shape : program.caches) {
    cpu::CacheLayout layout({shape.kvHeads, shape.headDim});
    floats += uint64_t(layout.pageFloats()) / CachePages::pageTokens;
  }
  return floats * sizeof(float);
}

Expected<Info> gather(const ProgramImage &image, const InfoOptions &options) {
  Expected<ProgramDescriptor> parsed =
      ProgramDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  Info info;
  info.program = parsed.take();
  const ProgramDescriptor &program = info.program;
  if (options.engine.contextLength > program.contextLength)
    return failure("a context of ", options.engine.contextLength,
                   " tokens is more than the model's ", program.contextLength);
  info.contextLength = options.engine.contextLength > 0
                           ? options.engine.contextLength
                           : program.contextLength;
  info.stepRows = std::min(options.engine.prefillChunk, info.contextLength);

  // Everything, so that tables used straight from a file count as well.
  Expected<PackedLayout> layout =
      planPackedFile(program, PackedContents::Everything);
  if (!layout)
    return layout.status();
  for (const PackedSection &section : layout->sections)
    info.weightBytes += section.bytes;
  std::set<std::pair<int64_t, uint64_t>> seen;
  for (const WeightDescriptor &weight : program.weights)
    if (seen.insert({weight.file, weight.offset}).second)
      info.formatBytes[formatInfo(weight.stored).name] += weight.bytes;
  info.cacheBytesPerToken = cacheBytesPerToken(program);
  info.arenaBytes =
      uint64_t(program.rowFloats * info.stepRows + program.outputFloats) *
      sizeof(float);
  info.cpuProblem = cpu::requireIsa(program.cpu).message();
  if (!image.tokenizer.empty()) {
    Expected<text::Tokenizer> tokenizer =
        text::Tokenizer::load(image.tokenizer);
    if (!tokenizer)
      return tokenizer.status().withContext("tokenizer");
    info.tokenizerTokens = tokenizer->vocabularySize();
  }
  return info;
}

std::string toJson(const Info &info) {
  const ProgramDescriptor &program = info.program;
  JsonWriter json;
  json.beginObject();
  json.key("name").string(program.name);
  json.key("architecture").string(program.architecture);
  json.key("parameters").number(program.parameterCount());
  json.key("quantization").string(program.quantization);
  json.key("context_length").number(program.contextLength);
  json.key("vocab_size").number(program.vocabSize);
  json.key("hidden_size").number(program.hiddenSize);
  json.key("layers").number(program.layers);
  json.key("tokenizer_tokens").number(info.tokenizerTokens);
  json.key("plan").beginObject();
  json.key("stages").number(int64_t(1));
  json.endObject();
  json.key("phases").beginArray();
  for (const std::string &phase : program.phases)
    json.string(phase);
  json.endArray();
  json.key("formats").beginObject();
  for (const auto &[name, bytes] : info.formatBytes)
    json.key(name).number(bytes);
  json.endObject();
  json.key("memory").beginObject();
  json.key("weights_bytes").number(info.weightBytes);
  json.key("cache_bytes_per_token").number(info.cacheBytesPerToken);
  json.key("cache_tokens").number(info.contextLength);
  json.key("cache_bytes").number(info.cacheBytes());
  json.key("step_rows").number(info.stepRows);
  json.key("arena_bytes").number(info.arenaBytes);
  json.endObject();
  json.key("cpu").string(program.cpu);
  json.key("cpu_supported").boolean(info.cpuProblem.empty());
  json.key("abi_version").number(int64_t(SLUICE_ABI_VERSION));
  json.key("embedded").boolean(program.embedded);
  json.key("files").beginArray();
  for (const ModelFile &file : program.files) {
    json.beginObject();
    json.key("path").string(file.path);
    json.key("size").number(file.size);
    json.key("identity").string(file.identity);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}

std::string megabytes(uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.1f MB", double(bytes) / 1e6);
  return text;
}

std::string joined(const std::vector<std::string> &words, const char *between) {
  std::string all;
  for (const std::string &word : words)
    all += (all.empty() ? "" : between) + word;
  return all;
}

std::string toText(const Info &info) {
  const ProgramDescriptor &program = info.program;
  std::string out;
  auto line = [&out](const char *label, const std::string &value) {
    char start[24];
    std::snprintf(start, sizeof(start), "%-14s", label);
    out += start + value + "\n";
  };
  char parameters[40];
  std::snprintf(parameters, sizeof(parameters), "%.1f million",
                double(program.parameterCount()) / 1e6);
  line("name", program.name);
  line("architecture", program.architecture);
  line("parameters", parameters);
  line("shape", std::to_string(program.layers) + " layers of " +
                    std::to_string(program.hiddenSize) + ", vocabulary " +
                    std::to_string(program.vocabSize) + ", context " +
                    std::to_string(program.contextLength));
  line("tokenizer", info.tokenizerTokens > 0
                        ? std::to_string(info.tokenizerTokens) + " tokens"
                        : "none");
  line("plan", "1 stage");
  line("phases", joined(program.phases, " > "));
  std::vector<std::string> formats;
  for (const auto &[name, bytes] : info.formatBytes)
    formats.push_back(std::string(name) + " " + megabytes(bytes));
  line("formats", joined(formats, ", ") + " in the files; computes in " +
                      program.quantization);
  line("memory", megabytes(info.weightBytes) + " weights, " +
                     megabytes(info.cacheBytes()) + " cache (" +
                     std::to_string(info.cacheBytesPerToken) +
                     " bytes a token, " + std::to_string(info.contextLength) +
                     " tokens), " + megabytes(info.arenaBytes) +
                     " for steps of " + std::to_string(info.stepRows) +
                     " rows");
  line("cpu", program.cpu + (info.cpuProblem.empty() ? " (this CPU has it)"
                                                     : ": " + info.cpuProblem));
  line("interface", std::to_string(SLUICE_ABI_VERSION));
  if (program.embedded)
    line("weights", "embedded in this program");
  for (const ModelFile &file : program.files)
    line("file", file.path + ", " + megabytes(file.size));
  return out;
}

} // namespace

Expected<int> app::runInfo(const ProgramImage &image,
                           const InfoOptions &options) {
  Expected<Info> info = gather(image, options);
  if (!info)
    return info.status();
  if (Status s = writeOutput(options.json ? toJson(*info) : toText(*info));
      !s.ok())
    return s;
  return 0;
}
