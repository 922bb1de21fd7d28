//===- InfoCommand.cpp - the command `info` -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/GpuInfo.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/text/JsonWriter.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

/// The memory of one program.
struct ProgramInfo {
  uint64_t weightBytes = 0; // as kernels read them
  uint64_t cacheBytesPerToken = 0;
  uint64_t arenaBytes = 0;
};

/// The facts that the command reports, gathered before they are written.
struct Info {
  ExecutableDescriptor executable;
  std::vector<ProgramInfo> programs; // in the descriptor's order
  int64_t contextLength = 0;
  cpu::CacheFormat cacheFormat = cpu::CacheFormat::F32;
  int64_t stepRows = 0; // that arenas have room for
  int64_t stepOutputs = 0;
  // By the formats of the model's files.
  std::map<std::string_view, uint64_t> formatBytes;
  std::string cpuProblem; // why this CPU does not fit; or empty
  int64_t tokenizerTokens = 0;
  std::optional<GpuInfo> gpu; // nullopt: no code for GPUs

  /// Returns the CPU level of the target; those of all stages are the same.
  const std::string &cpu() const { return executable.programs[0].cpu; }

  uint64_t total(uint64_t ProgramInfo::*bytes) const {
    uint64_t sum = 0;
    for (const ProgramInfo &program : programs)
      sum += program.*bytes;
    return sum;
  }
  /// Returns the bytes of all caches. A draft's context may be shorter.
  uint64_t cacheBytes() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < programs.size(); ++i)
      sum += programs[i].cacheBytesPerToken *
             uint64_t(
                 std::min(contextLength, executable.programs[i].contextLength));
    return sum;
  }
};

uint64_t cacheBytesPerToken(const ProgramDescriptor &program,
                            cpu::CacheFormat format) {
  uint64_t bytes = 0;
  for (const device::CacheShape &shape : program.caches) {
    cpu::CacheLayout layout(shape, format);
    bytes += uint64_t(layout.pageBytes()) / CachePages::pageTokens;
  }
  return bytes;
}

Expected<ProgramInfo> gatherProgram(const Info &info,
                                    const ProgramDescriptor &program) {
  // Everything, so that tables used straight from a file count as well.
  Expected<PackedFileLayout> layout = planPackedFile(
      info.executable.files, program, PackedContents::Everything);
  if (!layout)
    return layout.status();
  ProgramInfo result;
  for (const PackedSection &section : layout->sections)
    result.weightBytes += section.bytes;
  result.cacheBytesPerToken = cacheBytesPerToken(program, info.cacheFormat);
  result.arenaBytes = uint64_t(program.rowFloats * info.stepRows +
                               program.outputFloats * info.stepOutputs) *
                      sizeof(float);
  return result;
}

/// Sets the rows of the longest possible step: a chunk of a prompt alone, or in
/// a pipeline also guesses behind it, all of which want outputs.
void settleSteps(Info &info, int64_t prefillChunk) {
  const ExecutionPlan &plan = info.executable.plan;
  if (plan.ranks.size() == 1 && !plan.draft) {
    info.stepRows = std::min(prefillChunk, info.contextLength);
    info.stepOutputs = 1;
    return;
  }
  PipelineLimits limits;
  limits.contextLength = info.contextLength;
  limits.prefillRows =
      std::min({prefillChunk, plan.stepRows, info.contextLength});
  int64_t &nodes = limits.speculation.nodes;
  nodes = std::max(nodes, plan.draft ? plan.draft->depth : 0);
  info.stepRows = limits.stage().rows;
  info.stepOutputs = limits.stage().outputs;
}

Expected<Info> gather(const ProgramImage &image, const InfoOptions &options) {
  Expected<ExecutableDescriptor> parsed =
      ExecutableDescriptor::parse(image.descriptor);
  if (!parsed)
    return parsed.status();
  Info info;
  info.executable = parsed.take();
  const ExecutableDescriptor &executable = info.executable;
  if (options.engine.contextLength > executable.contextLength)
    return failure("a context of ", options.engine.contextLength,
                   " tokens is more than the model's ",
                   executable.contextLength);
  info.contextLength = options.engine.contextLength > 0
                           ? options.engine.contextLength
                           : executable.contextLength;
  info.cacheFormat = cpuCacheFormat(options.engine.cacheType);
  settleSteps(info, options.engine.prefillChunk);

  std::set<std::pair<int64_t, uint64_t>> seen;
  for (const ProgramDescriptor &program : executable.programs) {
    // The same programs for another target follow.
    if (program.target != executable.programs.front().target)
      break;
    Expected<ProgramInfo> gathered = gatherProgram(info, program);
    if (!gathered)
      return gathered.status();
    info.programs.push_back(gathered.take());
    for (const WeightDescriptor &weight : program.weights)
      if (seen.insert({weight.file, weight.offset}).second)
        info.formatBytes[formatInfo(weight.stored).name] += weight.bytes;
  }
  device::StepLimits limits;
  limits.rows = info.stepRows;
  limits.outputs = info.stepOutputs;
  limits.contextLength = info.contextLength;
  Expected<std::optional<GpuInfo>> gpu =
      gatherGpuInfo(image, executable, options.engine, limits);
  if (!gpu)
    return gpu.status();
  info.gpu = gpu.take();
  info.cpuProblem = cpu::requireIsa(info.cpu()).message();
  if (!image.tokenizer.empty()) {
    Expected<text::Tokenizer> tokenizer =
        text::Tokenizer::load(image.tokenizer);
    if (!tokenizer)
      return tokenizer.status().withContext("tokenizer");
    info.tokenizerTokens = tokenizer->vocabularySize();
  }
  return info;
}

/// Writes the predicted microseconds of a step of one row and of eight.
void writeCosts(text::JsonWriter &json, const StepCosts &costs) {
  json.key("step_us").beginObject();
  for (size_t i = 0; i < costs.size(); ++i)
    if (StepTimes::rowCounts[i] == 1 || StepTimes::rowCounts[i] == 8)
      json.key(std::to_string(StepTimes::rowCounts[i]))
          .number(double(costs[i].count()) / 1e3);
  json.endObject();
}

/// Returns the largest number of ranks that compute a stage together.
int64_t groupSize(const ExecutionPlan &plan) {
  int64_t max = 1;
  for (const PlanStage &stage : plan.stages)
    max = std::max(max, stage.members());
  return max;
}

void writePlan(text::JsonWriter &json, const ExecutionPlan &plan) {
  json.key("plan").beginObject();
  json.key("identity").string(formatIdentity(plan.identity));
  json.key("stages").number(int64_t(plan.stages.size()));
  json.key("tensor_parallel").number(groupSize(plan));
  json.key("max_latency_us").number(double(plan.maxLatency.count()) / 1e3);
  json.key("step_rows").number(plan.stepRows);
  json.key("ranks").beginArray();
  for (const PlanRank &rank : plan.ranks) {
    json.beginObject();
    json.key("roles").beginArray();
    for (const RankRole &role : rank.roles)
      json.string(role.name());
    json.endArray();
    json.key("place").string(rank.place);
    json.endObject();
  }
  json.endArray();
  json.key("channels").beginArray();
  for (const PlanChannel &channel : plan.channels) {
    json.beginObject();
    json.key("name").string(channel.name);
    json.key("kind").string(channelKindName(channel.kind));
    json.key("from").number(channel.from);
    json.key("to").number(channel.to);
    json.key("capacity").number(channel.capacity);
    json.endObject();
  }
  json.endArray();
  if (plan.draft) {
    json.key("draft").beginObject();
    json.key("program").string(plan.draft->program);
    json.key("placement").string(draftPlacementName(plan.draft->placement));
    json.key("depth").number(plan.draft->depth);
    json.key("width").number(plan.draft->width);
    json.endObject();
  }
  json.endObject();
}

/// Writes each program with the rank that runs it.
void writePrograms(text::JsonWriter &json, const Info &info) {
  const ExecutionPlan &plan = info.executable.plan;
  json.key("programs").beginArray();
  for (size_t i = 0; i < info.programs.size(); ++i) {
    const ProgramDescriptor &program = info.executable.programs[i];
    RankRole role{RankRole::Kind::Draft, 0};
    const StepCosts *costs = plan.draft ? &plan.draft->costs : nullptr;
    for (size_t stage = 0; stage < plan.stages.size(); ++stage)
      for (int64_t member = 0; member < plan.stages[stage].members(); ++member)
        if (plan.stages[stage].programOf(member) == program.name) {
          role = {RankRole::Kind::Stage, int64_t(stage), member};
          costs = &plan.stages[stage].costs;
        }
    json.beginObject();
    json.key("name").string(program.name);
    json.key("role").string(role.name());
    json.key("rank").number(plan.rankOf(role));
    json.key("first_layer").number(program.firstLayer);
    json.key("layers").number(program.layers);
    json.key("checkpoints").number(program.checkpoints);
    json.key("step_rows").number(program.stepRows);
    writeCosts(json, *costs);
    json.key("weights_bytes").number(info.programs[i].weightBytes);
    json.key("cache_bytes_per_token")
        .number(info.programs[i].cacheBytesPerToken);
    json.key("arena_bytes").number(info.programs[i].arenaBytes);
    json.endObject();
  }
  json.endArray();
}

void writeMemory(text::JsonWriter &json, const Info &info) {
  json.key("formats").beginObject();
  for (const auto &[name, bytes] : info.formatBytes)
    json.key(name).number(bytes);
  json.endObject();
  json.key("memory").beginObject();
  json.key("weights_bytes").number(info.total(&ProgramInfo::weightBytes));
  json.key("cache_type").string(cpu::cacheFormatName(info.cacheFormat));
  json.key("cache_bytes_per_token")
      .number(info.total(&ProgramInfo::cacheBytesPerToken));
  json.key("cache_tokens").number(info.contextLength);
  json.key("cache_bytes").number(info.cacheBytes());
  json.key("step_rows").number(info.stepRows);
  json.key("arena_bytes").number(info.total(&ProgramInfo::arenaBytes));
  json.endObject();
}

std::string toJson(const Info &info) {
  const ExecutableDescriptor &executable = info.executable;
  text::JsonWriter json;
  json.beginObject();
  json.key("name").string(executable.name);
  json.key("architecture").string(executable.architecture);
  json.key("parameters").number(executable.parameterCount());
  json.key("quantization").string(executable.quantization);
  json.key("context_length").number(executable.contextLength);
  json.key("vocab_size").number(executable.vocabSize);
  json.key("hidden_size").number(executable.hiddenSize);
  json.key("layers").number(executable.layers);
  json.key("tokenizer_tokens").number(info.tokenizerTokens);
  writePlan(json, executable.plan);
  writePrograms(json, info);
  json.key("phases").beginArray();
  for (const std::string &phase : executable.phases)
    json.string(phase);
  json.endArray();
  writeMemory(json, info);
  json.key("cpu").string(info.cpu());
  json.key("cpu_supported").boolean(info.cpuProblem.empty());
  if (info.gpu)
    writeGpuInfo(json, *info.gpu);
  json.key("abi_version").number(int64_t(SLUICE_ABI_VERSION));
  json.key("embedded").boolean(executable.embedded);
  json.key("files").beginArray();
  for (const ModelFile &file : executable.files) {
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

std::string counted(int64_t number, const char *word) {
  return std::to_string(number) + " " + word + (number == 1 ? "" : "s");
}

std::string planSummary(const ExecutionPlan &plan) {
  std::string text = counted(int64_t(plan.stages.size()), "stage");
  if (int64_t members = groupSize(plan); members > 1)
    text += " by groups of " + std::to_string(members);
  if (plan.draft)
    text += " and a draft";
  return text + " on " + counted(int64_t(plan.ranks.size()), "rank");
}

/// Returns "head, draft: draft" or "stage 1: main.s1, layers 2 to 4, 24.1 MB".
std::string describeRank(const Info &info, int64_t rank) {
  const ExecutionPlan &plan = info.executable.plan;
  std::vector<std::string> parts;
  for (const RankRole &role : plan.ranks[size_t(rank)].roles) {
    std::string text = role.name();
    if (role.kind != RankRole::Kind::Head) {
      const std::string &name =
          role.kind == RankRole::Kind::Draft
              ? plan.draft->program
              : plan.stages[size_t(role.stage)].programOf(role.member);
      auto index = size_t(*info.executable.findProgram(name));
      const ProgramDescriptor &program = info.executable.programs[index];
      text += " (" + name + ": " + counted(program.layers, "layer") + " from " +
              std::to_string(program.firstLayer) + ", " +
              megabytes(info.programs[index].weightBytes) + ", " +
              counted(program.checkpoints, "checkpoint") + ")";
    }
    parts.push_back(std::move(text));
  }
  const std::string &place = plan.ranks[size_t(rank)].place;
  return std::to_string(rank) + (place.empty() ? "" : " on " + place) + ": " +
         joined(parts, ", ");
}

std::string memorySummary(const Info &info) {
  uint64_t perToken = info.total(&ProgramInfo::cacheBytesPerToken);
  return megabytes(info.total(&ProgramInfo::weightBytes)) + " weights, " +
         megabytes(info.cacheBytes()) + " cache (" +
         std::string(cpu::cacheFormatName(info.cacheFormat)) + ", " +
         std::to_string(perToken) + " bytes a token, " +
         std::to_string(info.contextLength) + " tokens), " +
         megabytes(info.total(&ProgramInfo::arenaBytes)) + " for steps of " +
         std::to_string(info.stepRows) + " rows";
}

std::string toText(const Info &info) {
  const ExecutableDescriptor &executable = info.executable;
  std::string out;
  auto line = [&out](const char *label, const std::string &value) {
    char start[24];
    std::snprintf(start, sizeof(start), "%-14s", label);
    out += start + value + "\n";
  };
  char parameters[40];
  std::snprintf(parameters, sizeof(parameters), "%.1f million",
                double(executable.parameterCount()) / 1e6);
  line("name", executable.name);
  line("architecture", executable.architecture);
  line("parameters", parameters);
  line("shape", std::to_string(executable.layers) + " layers of " +
                    std::to_string(executable.hiddenSize) + ", vocabulary " +
                    std::to_string(executable.vocabSize) + ", context " +
                    std::to_string(executable.contextLength));
  line("tokenizer", info.tokenizerTokens > 0
                        ? std::to_string(info.tokenizerTokens) + " tokens"
                        : "none");
  line("plan", planSummary(executable.plan));
  for (size_t rank = 0; rank < executable.plan.ranks.size(); ++rank)
    line("rank", describeRank(info, int64_t(rank)));
  line("phases", joined(executable.phases, " > "));
  std::vector<std::string> formats;
  for (const auto &[name, bytes] : info.formatBytes)
    formats.push_back(std::string(name) + " " + megabytes(bytes));
  line("formats", joined(formats, ", ") + " in the files; computes in " +
                      executable.quantization);
  line("memory", memorySummary(info));
  line("cpu", info.cpu() + (info.cpuProblem.empty() ? " (this CPU has it)"
                                                    : ": " + info.cpuProblem));
  if (info.gpu)
    line("gpu", describeGpu(*info.gpu));
  line("interface", std::to_string(SLUICE_ABI_VERSION));
  if (executable.embedded)
    line("weights", "embedded in this program");
  for (const ModelFile &file : executable.files)
    line("file", file.path + ", " + megabytes(file.size));
  return out;
}

} // namespace

Expected<int> app::runInfo(const ProgramImage &image,
                           const InfoOptions &options) {
  Expected<Info> info = gather(image, options);
  if (!info)
    return info.status();
  SLUICE_RETURN_IF_ERROR(
      writeOutput(options.json ? toJson(*info) : toText(*info)));
  return 0;
}
