//===- PipelineSession.cpp - the running ranks of a plan ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineSession.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

namespace {

bool hasRole(const PlanRank &rank, RankRole::Kind kind) {
  return std::any_of(
      rank.roles.begin(), rank.roles.end(),
      [kind](const RankRole &role) { return role.kind == kind; });
}

StepTimes toTimes(const StepCosts &costs) { return StepTimes(costs); }

} // namespace

std::optional<RankRole> app::stageOf(const PlanRank &rank) {
  for (const RankRole &role : rank.roles)
    if (role.kind == RankRole::Kind::Stage)
      return role;
  return std::nullopt;
}

std::string app::describeRoles(const PlanRank &rank) {
  std::string text;
  for (const RankRole &role : rank.roles)
    text += (text.empty() ? "" : ", ") + role.name();
  return text;
}

bool PipelineSession::isWanted(const ExecutableDescriptor &executable,
                               const PipelineOptions &options,
                               const std::optional<comm::MpiLaunch> &launch) {
  return executable.plan.ranks.size() > 1 || executable.plan.draft ||
         options.oracleAcceptance || !options.emulate.empty() ||
         !options.traceFile.empty() || (launch && launch->size > 1) ||
         (options.modeGiven &&
          options.speculation.mode != SpeculationMode::Off);
}

PipelineSession::PipelineSession(Engine &engine, const PipelineOptions &options)
    : engine(engine), plan(engine.descriptor().plan), options(options) {}

PipelineSession::~PipelineSession() {
  // Does nothing if the job has ended already.
  abort(failure("has left before the end"));
  for (std::thread &server : servers)
    server.join();
}

Status PipelineSession::agree(const std::optional<comm::MpiLaunch> &launch,
                              const PipelineNeeds &wanted) {
  needs = wanted;
  settleServing();
  if (!launch || launch->rank == 0)
    SLUICE_RETURN_IF_ERROR(openTrace());
  SLUICE_RETURN_IF_ERROR(connect(launch));
  SLUICE_RETURN_IF_ERROR(settleDevice());
  SLUICE_RETURN_IF_ERROR(settlePages());
  if (severalProcesses) {
    SLUICE_RETURN_IF_ERROR(compareTerms(*communicators.front(), terms()));
    Expected<cpu::CoreShare> share = shareCores(
        *communicators.front(), {std::to_string(pipeline::clockIdentity()),
                                 cpu::Topology::read().processors()});
    if (!share)
      return share.status();
    cores = *share;
  }
  SLUICE_RETURN_IF_ERROR(settleTransport());
  emulateLinks();
  return {};
}

Status PipelineSession::open() {
  if (rowsByNccl)
    SLUICE_RETURN_IF_ERROR(connectGpus());
  joinGroups();
  if (*engine.usesGpu())
    SLUICE_RETURN_IF_ERROR(connectGroups());
  SLUICE_RETURN_IF_ERROR(makeRanks());
  engine.startVerifying(needs.verifiesOn);
  return {};
}

//===----------------------------------------------------------------------===//
// Options and agreement
//===----------------------------------------------------------------------===//

Status PipelineSession::settle() {
  SLUICE_RETURN_IF_ERROR(settleSpeculation());
  int64_t chunk = engine.options().prefillChunk;
  if (chunk > plan.stepRows && chunk != EngineOptions().prefillChunk)
    return failure("--prefill-chunk: ", chunk,
                   ": this program's steps have at most ", plan.stepRows,
                   " rows");
  for (const char *option : {"--activations", "--transport"})
    if (plan.stages.size() == 1 && options.isGiven(option))
      return failure(option,
                     ": this program has one stage, and no rows travel");
  for (const PlanRank &rank : plan.ranks)
    if (std::count_if(rank.roles.begin(), rank.roles.end(),
                      [](const RankRole &role) {
                        return role.kind == RankRole::Kind::Stage;
                      }) > 1)
      return failure("this program's plan has several stages on one rank, "
                     "which only run one after the other");
  settleShape();
  return emulate();
}

/// Returns whether there is a draft or an oracle, whether it is used or not.
bool PipelineSession::canGuess() const {
  return plan.draft.has_value() || options.oracleAcceptance;
}

/// Completes the options from the plan.
Status PipelineSession::settleSpeculation() {
  SpeculationOptions &speculation = options.speculation;
  if (!options.modeGiven)
    speculation.mode =
        canGuess() ? SpeculationMode::Async : SpeculationMode::Off;
  if (speculation.mode != SpeculationMode::Off && !canGuess())
    return failure("--speculate: this program has no draft: compile it with "
                   "--draft");
  for (const char *name : {"--speculate-depth", "--speculate-width",
                           "--no-continuous", "--emulate-draft"})
    if (!canGuess() && options.isGiven(name))
      return failure(name, ": this program has no draft: compile it with "
                           "--draft");
  if (speculation.mode == SpeculationMode::Sync) {
    speculation.depth = syncDepth;
    speculation.width = syncWidth;
  } else if (plan.draft) {
    speculation.depth = plan.draft->depth;
    speculation.width = plan.draft->width;
  }
  speculation.depth = options.depth.value_or(speculation.depth);
  speculation.width = options.width.value_or(speculation.width);
  speculation.nodes = std::max(speculation.nodes, speculation.depth);
  // Caches have room for all rows in flight.
  if (speculation.mode == SpeculationMode::Off)
    speculation.nodes = 1;
  return {};
}

void PipelineSession::settleShape() {
  const ExecutableDescriptor &executable = engine.descriptor();
  shape.identity = plan.identity;
  shape.ranks = int64_t(plan.ranks.size());
  shape.hasDraft = options.speculation.mode != SpeculationMode::Off;
  if (shape.hasDraft && plan.draft && !options.oracleAcceptance) {
    const ProgramDescriptor &draft =
        executable.programs[*executable.findProgram(plan.draft->program)];
    shape.draftContextLength = draft.contextLength;
    shape.draftVocabSize = draft.vocabSize;
  }
  shape.vocabSize = executable.vocabSize;
  shape.hiddenSize = executable.hiddenSize;
  shape.contextLength = engine.contextLength();
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    shape.stageRanks.push_back(
        plan.rankOf({RankRole::Kind::Stage, int64_t(stage)}));

  settings.speculation = options.speculation;
  settings.activations = options.activations;
  settings.fuse = options.fuse;
  // A communicator has the same capacity for all pairs of ranks.
  settings.channelFrames =
      std::min_element(plan.channels.begin(), plan.channels.end(),
                       [](const PlanChannel &a, const PlanChannel &b) {
                         return a.capacity < b.capacity;
                       })
          ->capacity;
  settings.trace = !options.traceFile.empty();
  settings.prefillRows = std::min(
      {engine.options().prefillChunk, plan.stepRows, engine.contextLength()});
}

/// Sets up the described machines. They are those of the whole plan, even if
/// its draft does not guess: rank 0 keeps its planned place.
Status PipelineSession::emulate() {
  if (options.emulate.empty())
    return {};
  for (const PlanStage &stage : plan.stages)
    if (stage.members() > 1)
      return failure("--emulate: this program's stages are on groups of "
                     "devices, whose times are not emulated");
  pipeline::EmulationOptions wanted;
  wanted.clusterFile = options.emulate;
  wanted.target = options.emulateTarget;
  wanted.draft = options.emulateDraft;
  wanted.stages = int64_t(plan.stages.size());
  wanted.hasDraft = canGuess();
  wanted.ownDraftRank = !hasRole(plan.ranks.front(), RankRole::Kind::Stage);
  wanted.maxLatency = options.maxLatencyMicros < 0
                          ? plan.maxLatency
                          : std::chrono::microseconds(options.maxLatencyMicros);
  wanted.activations = options.activations;
  wanted.prefillRows = settings.prefillRows;
  Expected<pipeline::Emulation> made = pipeline::Emulation::create(wanted);
  if (!made)
    return made.status().withContext("--emulate");
  emulation.emplace(made.take());
  settings.prefillRows = emulation->stepRows();
  return {};
}

/// Sets how many requests share the ranks.
void PipelineSession::settleServing() {
  if (!needs.serving)
    return;
  const ServingOptions &serving = *needs.serving;
  settings.requests = serving.requests;
  settings.sharesPrefixes = serving.sharesPrefixes;
  settings.interTokenLatency = Time(int64_t(serving.interTokenMillis * 1e6));
  settings.scheduler = serving.scheduler;
  // Certain rows and ends of all requests can be in flight at once.
  settings.channelFrames = std::max(
      settings.channelFrames, 2 * serving.requests + defaultChannelFrames);
}

/// Settles the device. Ranks of one process share one engine.
Status PipelineSession::settleDevice() {
  if (!severalProcesses)
    return engine.usesGpu().status();
  Expected<DeviceFinding> found = engine.findDevice(localRank);
  if (!found)
    return found.status();
  Expected<bool> gpus = agreeOnGpus(*communicators.front(), *found, writeNote);
  return gpus ? engine.useDevice(*gpus) : gpus.status();
}

/// Sets the number of cache pages.
Status PipelineSession::settlePages() {
  if (!needs.serving)
    return {};
  const ServingOptions &serving = *needs.serving;
  Expected<CacheStorage> storage = engine.cacheStorage();
  if (!storage)
    return storage.status();
  Expected<int64_t> pages =
      pagesOf(serving, engine.descriptor(), *storage, shape.contextLength);
  if (!pages)
    return pages.status();
  settings.pages = *pages;
  return {};
}

/// Returns the terms that the head requires of every rank: its cache, its
/// limits, and the settings of communication.
RankTerms PipelineSession::terms() {
  const PipelineLimits limits = settings.limits(shape);
  const StageLimits stage = limits.stage();
  const std::optional<uint64_t> &seed = engine.options().randomWeights;
  Expected<CacheStorage> storage = engine.cacheStorage();
  return {{"plan", formatIdentity(shape.identity)},
          {"cache type", std::string(cacheStorageName(*storage))},
          {"cache's number of pages", std::to_string(limits.cachePages())},
          {"number of rows in a step", std::to_string(stage.rows)},
          {"number of requests", std::to_string(stage.requests)},
          {"number of branches", std::to_string(stage.branches)},
          {"number of guesses", std::to_string(stage.nodes)},
          {"number of shared pages", std::to_string(stage.sharedPages)},
          {"context length", std::to_string(shape.contextLength)},
          {"--activations",
           std::string(activationFormatName(settings.activations))},
          {"--transport", std::string(transportName(options.transport))},
          {"--emulate", options.emulate.empty() ? "none" : options.emulate},
          {"seed of weights", seed ? std::to_string(*seed) : "none"}};
}

/// Opens the trace before anything is computed, so that a path that cannot be
/// written fails early.
Status PipelineSession::openTrace() {
  if (options.traceFile.empty())
    return {};
  Expected<trace::TraceWriter> made =
      trace::TraceWriter::create(options.traceFile);
  if (!made)
    return made.status().withContext("--trace");
  trace.emplace(made.take());
  return {};
}

/// Returns the times that the speculation policy uses until it has measured.
PipelineTimes PipelineSession::times() const {
  if (emulation)
    return emulation->times();
  PipelineTimes times;
  const PlanStage *slowest = &plan.stages.front();
  for (const PlanStage &stage : plan.stages) {
    times.roundTrip += stage.costs.front();
    if (stage.costs.front() > slowest->costs.front())
      slowest = &stage;
  }
  times.slowest = toTimes(slowest->costs);
  times.cancelLatency =
      plan.maxLatency.count() > 0 ? plan.maxLatency : slowest->costs.front();
  if (plan.draft)
    times.draft = toTimes(plan.draft->costs);
  return times;
}

//===----------------------------------------------------------------------===//
// Ending
//===----------------------------------------------------------------------===//

Status PipelineSession::serve(bool drains) {
  return ranks.front()->serve(drains ? nullptr
                                     : std::function<bool()>(interrupted));
}

Expected<pipeline::PipelineOutcome> PipelineSession::shutDown() {
  Expected<std::vector<pipeline::RankReport>> reports =
      ranks.front()->shutDown();
  if (!reports)
    return reports.status();
  pipeline::PipelineOutcome outcome;
  outcome.options = settings.speculation;
  outcome.speculation = ranks.front()->speculation();
  outcome.ranks = reports.take();
  if (!trace)
    return outcome;
  std::vector<std::string> names;
  for (const PlanRank &rank : plan.ranks)
    names.push_back("rank " + std::to_string(names.size()) + ": " +
                    describeRoles(rank));
  SLUICE_RETURN_IF_ERROR(writeTrace(*trace, outcome.ranks, names));
  return outcome;
}

void PipelineSession::abort(const Status &reason) {
  // Other ranks must not wait for a rank that could not be made.
  if (!ranks.empty())
    ranks.front()->abort(reason);
  else if (!communicators.empty())
    communicators.front()->abort(reason);
}
