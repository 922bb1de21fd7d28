//===- PipelineConfig.cpp - how a plan is run -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/PipelineConfig.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

namespace {

bool hasRole(const PlanRank &rank, RankRole::Kind kind) {
  return std::any_of(
      rank.roles.begin(), rank.roles.end(),
      [kind](const RankRole &role) { return role.kind == kind; });
}

StepTimes toTimes(const StepCosts &costs) { return StepTimes(costs); }

} // namespace

std::optional<RankRole> engine::stageOf(const PlanRank &rank) {
  for (const RankRole &role : rank.roles)
    if (role.kind == RankRole::Kind::Stage)
      return role;
  return std::nullopt;
}

std::string engine::describeRoles(const PlanRank &rank) {
  std::string text;
  for (const RankRole &role : rank.roles)
    text += (text.empty() ? "" : ", ") + role.name();
  return text;
}

PipelineConfig::PipelineConfig(const Engine &engine,
                               const PipelineOptions &options)
    : engine(engine), planned(engine.descriptor().plan), wanted(options) {}

Status PipelineConfig::settle() {
  SLUICE_RETURN_IF_ERROR(settleSpeculation());
  SLUICE_RETURN_IF_ERROR(checkOptions());
  settleShape();
  settleSettings();
  return emulate();
}

/// Checks the options and the plan against each other.
Status PipelineConfig::checkOptions() const {
  int64_t chunk = engine.options().prefillChunk;
  if (chunk > planned.stepRows && chunk != EngineOptions().prefillChunk)
    return failure("--prefill-chunk: ", chunk,
                   ": this program's steps have at most ", planned.stepRows,
                   " rows");
  for (const char *option : {"--activations", "--transport"})
    if (planned.stages.size() == 1 && wanted.isGiven(option))
      return failure(option,
                     ": this program has one stage, and no rows travel");
  for (const PlanRank &rank : planned.ranks)
    if (std::count_if(rank.roles.begin(), rank.roles.end(),
                      [](const RankRole &role) {
                        return role.kind == RankRole::Kind::Stage;
                      }) > 1)
      return failure("this program's plan has several stages on one rank, "
                     "which only run one after the other");
  return {};
}

/// Returns whether there is a draft or an oracle, whether it is used or not.
bool PipelineConfig::canGuess() const {
  return planned.draft.has_value() || wanted.oracleAcceptance;
}

/// Completes the options from the plan.
Status PipelineConfig::settleSpeculation() {
  SpeculationOptions &speculation = wanted.speculation;
  if (!wanted.modeGiven)
    speculation.mode =
        canGuess() ? SpeculationMode::Async : SpeculationMode::Off;
  if (speculation.mode != SpeculationMode::Off && !canGuess())
    return failure("--speculate: this program has no draft: compile it with "
                   "--draft");
  for (const char *name : {"--speculate-depth", "--speculate-width",
                           "--no-continuous", "--emulate-draft"})
    if (!canGuess() && wanted.isGiven(name))
      return failure(name, ": this program has no draft: compile it with "
                           "--draft");
  if (speculation.mode == SpeculationMode::Sync) {
    speculation.depth = syncDepth;
    speculation.width = syncWidth;
  } else if (planned.draft) {
    speculation.depth = planned.draft->depth;
    speculation.width = planned.draft->width;
  }
  speculation.depth = wanted.depth.value_or(speculation.depth);
  speculation.width = wanted.width.value_or(speculation.width);
  speculation.nodes = std::max(speculation.nodes, speculation.depth);
  // Caches have room for all rows in flight.
  if (speculation.mode == SpeculationMode::Off)
    speculation.nodes = 1;
  return {};
}

void PipelineConfig::settleShape() {
  const ExecutableDescriptor &executable = engine.descriptor();
  shared.identity = planned.identity;
  shared.ranks = int64_t(planned.ranks.size());
  shared.hasDraft = wanted.speculation.mode != SpeculationMode::Off;
  if (shared.hasDraft && planned.draft && !wanted.oracleAcceptance) {
    const ProgramDescriptor &draft =
        executable.programs[*executable.findProgram(planned.draft->program)];
    shared.draftContextLength = draft.contextLength;
    shared.draftVocabSize = draft.vocabSize;
  }
  shared.vocabSize = executable.vocabSize;
  shared.hiddenSize = executable.hiddenSize;
  shared.contextLength = engine.contextLength();
  for (size_t stage = 0; stage < planned.stages.size(); ++stage)
    shared.stageRanks.push_back(
        planned.rankOf({RankRole::Kind::Stage, int64_t(stage)}));
}

void PipelineConfig::settleSettings() {
  ofRanks.speculation = wanted.speculation;
  ofRanks.activations = wanted.activations;
  ofRanks.fuse = wanted.fuse;
  // A communicator has the same capacity for all pairs of ranks.
  ofRanks.channelFrames =
      std::min_element(planned.channels.begin(), planned.channels.end(),
                       [](const PlanChannel &a, const PlanChannel &b) {
                         return a.capacity < b.capacity;
                       })
          ->capacity;
  ofRanks.trace = !wanted.traceFile.empty();
  ofRanks.prefillRows = std::min({engine.options().prefillChunk,
                                  planned.stepRows, engine.contextLength()});
}

/// Sets up the described machines. They are those of the whole plan, even if
/// its draft does not guess: rank 0 keeps its planned place.
Status PipelineConfig::emulate() {
  if (wanted.emulate.empty())
    return {};
  for (const PlanStage &stage : planned.stages)
    if (stage.members() > 1)
      return failure("--emulate: this program's stages are on groups of "
                     "devices, whose times are not emulated");
  pipeline::EmulationOptions described;
  described.clusterFile = wanted.emulate;
  described.target = wanted.emulateTarget;
  described.draft = wanted.emulateDraft;
  described.stages = int64_t(planned.stages.size());
  described.hasDraft = canGuess();
  described.ownDraftRank =
      !hasRole(planned.ranks.front(), RankRole::Kind::Stage);
  described.maxLatency =
      wanted.maxLatencyMicros < 0
          ? planned.maxLatency
          : std::chrono::microseconds(wanted.maxLatencyMicros);
  described.activations = wanted.activations;
  described.prefillRows = ofRanks.prefillRows;
  Expected<pipeline::Emulation> made = pipeline::Emulation::create(described);
  if (!made)
    return made.status().withContext("--emulate");
  emulated = std::make_unique<pipeline::Emulation>(made.take());
  ofRanks.prefillRows = emulated->stepRows();
  return {};
}

void PipelineConfig::serve(const ServingOptions &serving) {
  ofRanks.requests = serving.requests;
  ofRanks.sharesPrefixes = serving.sharesPrefixes;
  ofRanks.interTokenLatency = Time(int64_t(serving.interTokenMillis * 1e6));
  ofRanks.scheduler = serving.scheduler;
  // Certain rows and ends of all requests can be in flight at once.
  ofRanks.channelFrames = std::max(ofRanks.channelFrames,
                                   2 * serving.requests + defaultChannelFrames);
}

PipelineTimes PipelineConfig::times() const {
  if (emulated)
    return emulated->times();
  PipelineTimes times;
  const PlanStage *slowest = &planned.stages.front();
  for (const PlanStage &stage : planned.stages) {
    times.roundTrip += stage.costs.front();
    if (stage.costs.front() > slowest->costs.front())
      slowest = &stage;
  }
  times.slowest = toTimes(slowest->costs);
  times.cancelLatency = planned.maxLatency.count() > 0 ? planned.maxLatency
                                                       : slowest->costs.front();
  if (planned.draft)
    times.draft = toTimes(planned.draft->costs);
  return times;
}
