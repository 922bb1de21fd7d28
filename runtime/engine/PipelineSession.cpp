//===- PipelineSession.cpp - the running ranks of a plan ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/PipelineSession.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"

using namespace sluice;
using namespace sluice::engine;

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
    : engine(engine), config(engine, options), links(engine, config) {}

PipelineSession::~PipelineSession() {
  // Does nothing if the job has ended already.
  abort(failure("has left before the end"));
  for (std::thread &server : servers)
    server.join();
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Status PipelineSession::agree(const std::optional<comm::MpiLaunch> &launch,
                              const PipelineNeeds &wanted) {
  needs = wanted;
  if (needs.serving)
    config.serve(*needs.serving);
  if (!launch || launch->rank == pipeline::headRank)
    SLUICE_RETURN_IF_ERROR(openTrace());
  SLUICE_RETURN_IF_ERROR(links.connect(launch));
  SLUICE_RETURN_IF_ERROR(settleDevice());
  SLUICE_RETURN_IF_ERROR(settlePages());
  if (links.severalProcesses()) {
    SLUICE_RETURN_IF_ERROR(compareTerms(*links.ends().front(), terms()));
    SLUICE_RETURN_IF_ERROR(shareProcessors());
  }
  SLUICE_RETURN_IF_ERROR(links.settleTransport());
  links.emulate();
  return {};
}

/// Divides the processors of each machine among the processes there.
Status PipelineSession::shareProcessors() {
  Expected<cpu::CoreShare> share = shareCores(
      *links.ends().front(), {std::to_string(pipeline::clockIdentity()),
                              cpu::Topology::read().processors()});
  if (!share)
    return share.status();
  cores = *share;
  return {};
}

/// Settles the device. Ranks of one process share one engine.
Status PipelineSession::settleDevice() {
  if (!links.severalProcesses())
    return engine.usesGpu().status();
  Expected<DeviceFinding> found = engine.findDevice(links.localRank());
  if (!found)
    return found.status();
  Expected<bool> gpus = agreeOnGpus(*links.ends().front(), *found, writeNote);
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
  Expected<int64_t> pages = pagesOf(serving, engine.descriptor(), *storage,
                                    config.shape().contextLength);
  if (!pages)
    return pages.status();
  config.setPages(*pages);
  return {};
}

/// Returns the terms that the head requires of every rank: its cache, its
/// limits, and the settings of communication.
RankTerms PipelineSession::terms() {
  const PipelineLimits limits = config.limits();
  const StageLimits stage = limits.stage();
  const std::optional<uint64_t> &seed = engine.options().randomWeights;
  Expected<CacheStorage> storage = engine.cacheStorage();
  return {
      {"plan", formatIdentity(config.shape().identity)},
      {"cache type", std::string(cacheStorageName(*storage))},
      {"cache's number of pages", std::to_string(limits.cachePages())},
      {"number of rows in a step", std::to_string(stage.rows)},
      {"number of requests", std::to_string(stage.requests)},
      {"number of branches", std::to_string(stage.branches)},
      {"number of guesses", std::to_string(stage.nodes)},
      {"number of shared pages", std::to_string(stage.sharedPages)},
      {"context length", std::to_string(config.shape().contextLength)},
      {"--activations",
       std::string(activationFormatName(config.settings().activations))},
      {"--transport", std::string(transportName(config.options().transport))},
      {"--emulate",
       config.options().emulate.empty() ? "none" : config.options().emulate},
      {"seed of weights", seed ? std::to_string(*seed) : "none"}};
}

/// Opens the trace before anything is computed, so that a path that cannot be
/// written fails early.
Status PipelineSession::openTrace() {
  if (config.options().traceFile.empty())
    return {};
  Expected<trace::TraceWriter> made =
      trace::TraceWriter::create(config.options().traceFile);
  if (!made)
    return made.status().withContext("--trace");
  trace.emplace(made.take());
  return {};
}

//===----------------------------------------------------------------------===//
// Beginning and ending
//===----------------------------------------------------------------------===//

Status PipelineSession::open() {
  SLUICE_RETURN_IF_ERROR(links.connectDevices());
  auto loaded = RankLoader(engine, config, links, needs, cores).load();
  if (!loaded)
    return loaded.status();
  ranks = loaded.take();
  if (links.severalProcesses())
    writeNote("rank " + std::to_string(links.here()) + " of " +
              std::to_string(config.shape().ranks) + ": " +
              describeRoles(config.plan().ranks[size_t(links.here())]));
  for (std::unique_ptr<pipeline::RankRuntime> &rank : ranks)
    rank->start();
  // Ranks other than the head wait for its end on their own threads; what
  // breaks them reaches the head as an error.
  for (size_t rank = 1; rank < ranks.size(); ++rank)
    servers.emplace_back(
        [this, rank] { (void)ranks[rank]->serve(/*terminated=*/nullptr); });
  engine.startVerifying(needs.verifiesOn);
  return {};
}

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
  outcome.options = config.settings().speculation;
  outcome.speculation = ranks.front()->speculation();
  outcome.ranks = reports.take();
  if (!trace)
    return outcome;
  std::vector<std::string> names;
  for (const PlanRank &rank : config.plan().ranks)
    names.push_back("rank " + std::to_string(names.size()) + ": " +
                    describeRoles(rank));
  SLUICE_RETURN_IF_ERROR(writeTrace(*trace, outcome.ranks, names));
  return outcome;
}

void PipelineSession::abort(const Status &reason) {
  // Other ranks must not wait for a rank that could not be made.
  if (!ranks.empty())
    ranks.front()->abort(reason);
  else if (!links.ends().empty())
    links.ends().front()->abort(reason);
}
