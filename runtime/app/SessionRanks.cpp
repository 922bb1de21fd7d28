//===- SessionRanks.cpp - making the ranks of a session -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and starts the ranks of a PipelineSession that are in this process.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineSession.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/pipeline/OracleGuesser.h"
#include "runtime/text/TokenBytes.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

using pipeline::RankRuntime;
using pipeline::RankSetup;

/// Returns the number of thread teams that compute at the same time in this
/// process: a stage and the draft each have one.
int64_t PipelineSession::teamsHere() const {
  int64_t teams = 0;
  for (const std::unique_ptr<comm::Communicator> &each : communicators) {
    int64_t rank = each->rank();
    teams += stageOf(plan.ranks[size_t(rank)]).has_value();
    teams += rank == 0 && shape.hasDraft && !options.oracleAcceptance;
  }
  return teams;
}

/// Returns the team of the next part. Ranks of one process share its cores, and
/// processes share a machine's. By default, a stage and a draft of one rank
/// each have all threads of the rank, which are then too many to be pinned.
CpuTeam PipelineSession::teamOfPart() const {
  CpuTeam team;
  team.share = cores.part(int64_t(parts.size()), teamsHere());
  team.pinning = engine.options().pinning;
  team.saysObstacle = parts.empty();
  team.threads = engine.options().threads;
  if (team.threads == 0)
    team.threads = cpu::defaultThreadCount(
        cpu::Topology::read(),
        severalProcesses ? cores : cores.part(0, shape.ranks));
  return team;
}

Status PipelineSession::loadPart(size_t end, bool isDraft,
                                 std::string_view program, GroupEnd *group) {
  Expected<LocalStage> loaded =
      engine.loadStage(program, teamOfPart(), gpuOf(communicators[end]->rank()),
                       group ? &group->collectives : nullptr,
                       group ? group->gpus.get() : nullptr);
  if (!loaded)
    return loaded.status();
  PipelineLimits max = settings.limits(shape);
  if (isDraft)
    max = max.draft();
  device::StepLimits limits = pipeline::stepLimits(max);
  limits.contextLength = std::min(shape.contextLength, loaded->contextLength);
  limits.resident = needs.serving.has_value();
  if (loaded->plan)
    SLUICE_RETURN_IF_ERROR(loaded->plan(limits));
  parts.push_back({end, isDraft, loaded.take(), limits});
  return {};
}

/// Makes the executors, once the memory of all is planned.
Status PipelineSession::makeParts(std::vector<RankSetup> &setups) {
  for (const Part &part : parts) {
    Expected<std::unique_ptr<device::StepExecutor>> executor =
        part.stage.make(part.limits);
    if (!executor)
      return executor.status();
    RankSetup &setup = setups[part.end];
    (part.isDraft ? setup.draftSetup : setup.stageSetup).compute =
        std::make_unique<pipeline::DeviceStepCompute>(executor.take());
  }
  parts.clear();
  return {};
}

std::unique_ptr<pipeline::Guesser> PipelineSession::makeGuesser() const {
  int64_t width = settings.speculation.width;
  if (options.oracleAcceptance)
    return std::make_unique<pipeline::OracleGuesser>(
        options.oracleSeed, shape.vocabSize, *options.oracleAcceptance, width,
        needs.truth);
  return std::make_unique<pipeline::ModelGuesser>(
      shape.sharedVocabSize(), width, settings.requests,
      [this] { return makeTokenTrie(); });
}

/// Returns the bytes of the model's tokens, for grammars, which allow no
/// special tokens.
Expected<std::shared_ptr<const grammar::TokenTrie>>
PipelineSession::makeTokenTrie() const {
  const text::Tokenizer *tokenizer = engine.tokenizer();
  if (!tokenizer)
    return failure("the model has no tokenizer");
  std::vector<std::string> bytes;
  for (text::TokenId id = 0; id < tokenizer->vocabularySize(); ++id)
    bytes.push_back(tokenizer->isSpecial(id)
                        ? std::string()
                        : text::tokenBytes(*tokenizer, id));
  std::vector<std::string_view> views(bytes.begin(), bytes.end());
  Expected<grammar::TokenTrie> made =
      grammar::TokenTrie::create(views, engine.descriptor().eosTokens);
  if (!made)
    return made.status();
  return std::shared_ptr<const grammar::TokenTrie>(
      std::make_shared<const grammar::TokenTrie>(made.take()));
}

Expected<RankSetup> PipelineSession::setUp(size_t end) {
  comm::Communicator &communicator = *communicators[end];
  int64_t rank = communicator.rank();
  const PlanRank &planned = plan.ranks[size_t(rank)];
  RankSetup setup;
  setup.shape = shape;
  setup.settings = settings;
  setup.isHead = rank == 0;
  setup.times = times();
  setup.makeTokenTrie = [this] { return makeTokenTrie(); };
  if (std::optional<RankRole> stage = stageOf(planned)) {
    setup.stage = stage->stage;
    auto found = groups.find(end);
    GroupEnd *group = found == groups.end() ? nullptr : &found->second;
    if (group) {
      setup.group = &group->collectives;
      setup.deviceGroup = group->gpus.get();
    }
    if (rowsByNccl)
      setup.deviceRows = static_cast<comm::NcclCommunicator *>(&communicator);
    SLUICE_RETURN_IF_ERROR(loadPart(
        end, /*isDraft=*/false,
        plan.stages[size_t(stage->stage)].programOf(stage->member), group));
    if (emulation)
      setup.stageSetup.pacer = emulation->stagePacer(setup.stage);
  }
  if (emulation)
    setup.activationBytes = [this](int64_t rows) {
      return emulation->activationBytesOf(rows);
    };
  if (rank > 0 || !shape.hasDraft)
    return setup;
  setup.guesser = makeGuesser();
  if (emulation)
    setup.draftSetup.pacer = emulation->draftPacer();
  if (options.oracleAcceptance) {
    setup.draftSetup.compute = std::make_unique<pipeline::NoCompute>();
    return setup;
  }
  SLUICE_RETURN_IF_ERROR(loadPart(end, /*isDraft=*/true, plan.draft->program));
  return setup;
}

Status PipelineSession::makeRanks() {
  std::vector<RankSetup> setups;
  for (size_t end = 0; end < communicators.size(); ++end) {
    Expected<RankSetup> setup = setUp(end);
    if (!setup)
      return setup.status();
    setups.push_back(setup.take());
  }
  SLUICE_RETURN_IF_ERROR(makeParts(setups));
  for (size_t end = 0; end < communicators.size(); ++end) {
    if (severalProcesses)
      writeNote("rank " + std::to_string(here) + " of " +
                std::to_string(shape.ranks) + ": " +
                describeRoles(plan.ranks[size_t(here)]));
    Expected<std::unique_ptr<RankRuntime>> rank =
        RankRuntime::create(std::move(setups[end]), *communicators[end]);
    if (!rank)
      return rank.status();
    ranks.push_back(rank.take());
  }
  for (std::unique_ptr<RankRuntime> &rank : ranks)
    rank->start();
  // Ranks other than the head wait for its end on their own threads; what
  // breaks them reaches the head as an error.
  for (size_t rank = 1; rank < ranks.size(); ++rank)
    servers.emplace_back(
        [this, rank] { (void)ranks[rank]->serve(/*terminated=*/nullptr); });
  return {};
}
