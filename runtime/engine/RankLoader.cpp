//===- RankLoader.cpp - loads the ranks of a process ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/RankLoader.h"

#include "runtime/engine/OracleGuesser.h"
#include "runtime/text/TokenBytes.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

using pipeline::RankRuntime;
using pipeline::RankSetup;

/// Returns the bytes of the model's tokens, for grammars, which allow no
/// special tokens.
static Expected<std::shared_ptr<const grammar::TokenTrie>>
makeTokenTrie(const Engine &engine) {
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

/// Returns the number of thread teams that compute at the same time in this
/// process: a stage and the draft each have one.
int64_t RankLoader::teamsHere() const {
  int64_t teams = 0;
  for (const std::unique_ptr<comm::Communicator> &each : links.ends()) {
    int64_t rank = each->rank();
    teams += stageOf(config.plan().ranks[size_t(rank)]).has_value();
    teams += rank == pipeline::headRank && config.runsDraftModel();
  }
  return teams;
}

/// Returns the team of the next part. Ranks of one process share its cores, and
/// processes share a machine's. By default, a stage and a draft of one rank
/// each have all threads of the rank, which are then too many to be pinned.
CpuTeam RankLoader::teamOfPart() const {
  CpuTeam team;
  team.share = cores.part(int64_t(parts.size()), teamsHere());
  team.pinning = engine.options().pinning;
  team.saysObstacle = parts.empty();
  team.threads = engine.options().threads;
  if (team.threads == 0)
    team.threads = cpu::defaultThreadCount(
        cpu::Topology::read(),
        links.severalProcesses() ? cores : cores.part(0, config.shape().ranks));
  return team;
}

Status RankLoader::loadPart(size_t end, bool isDraft, std::string_view program,
                            GroupLinks *group) {
  Expected<LocalStage> loaded = engine.loadStage(
      program, teamOfPart(), links.gpuOf(links.ends()[end]->rank()),
      group ? &group->collectives : nullptr,
      group ? group->gpus.get() : nullptr);
  if (!loaded)
    return loaded.status();
  PipelineLimits max = config.limits();
  if (isDraft)
    max = max.draft();
  device::StepLimits limits = pipeline::stepLimits(max);
  limits.contextLength =
      std::min(config.shape().contextLength, loaded->contextLength);
  limits.resident = needs.serving.has_value();
  if (loaded->plan)
    SLUICE_RETURN_IF_ERROR(loaded->plan(limits));
  parts.push_back({end, isDraft, loaded.take(), limits});
  return {};
}

/// Makes the executors, once the memory of all is planned.
Status RankLoader::makeParts(std::vector<RankSetup> &setups) {
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

std::unique_ptr<pipeline::Guesser> RankLoader::makeGuesser() const {
  int64_t width = config.settings().speculation.width;
  if (config.options().oracleAcceptance)
    return std::make_unique<OracleGuesser>(
        config.options().oracleSeed, config.shape().vocabSize,
        *config.options().oracleAcceptance, width, needs.truth);
  return std::make_unique<pipeline::ModelGuesser>(
      config.shape().sharedVocabSize(), width, config.settings().requests,
      [&engine = engine] { return makeTokenTrie(engine); });
}

/// Completes the setup of a rank with a stage.
Status RankLoader::setUpStage(size_t end, const RankRole &role,
                              RankSetup &setup) {
  setup.stage = role.stage;
  GroupLinks *group = links.groupOf(end);
  if (group) {
    setup.group = &group->collectives;
    setup.deviceGroup = group->gpus.get();
  }
  setup.deviceRows = links.deviceRowsOf(end);
  if (config.emulation())
    setup.stageSetup.pacer = config.emulation()->stagePacer(setup.stage);
  return loadPart(
      end, /*isDraft=*/false,
      config.plan().stages[size_t(role.stage)].programOf(role.member), group);
}

/// Completes the setup of the rank with the draft.
Status RankLoader::setUpDraft(size_t end, RankSetup &setup) {
  setup.guesser = makeGuesser();
  if (config.emulation())
    setup.draftSetup.pacer = config.emulation()->draftPacer();
  if (config.runsDraftModel())
    return loadPart(end, /*isDraft=*/true, config.plan().draft->program);
  setup.draftSetup.compute = std::make_unique<pipeline::NoCompute>();
  return {};
}

Expected<RankSetup> RankLoader::setUp(size_t end) {
  const int64_t rank = links.ends()[end]->rank();
  RankSetup setup;
  setup.shape = config.shape();
  setup.settings = config.settings();
  setup.isHead = rank == pipeline::headRank;
  setup.times = config.times();
  setup.makeTokenTrie = [&engine = engine] { return makeTokenTrie(engine); };
  if (const pipeline::Emulation *emulation = config.emulation())
    setup.activationBytes = [emulation](int64_t rows) {
      return emulation->activationBytesOf(rows);
    };
  if (std::optional<RankRole> stage =
          stageOf(config.plan().ranks[size_t(rank)]))
    SLUICE_RETURN_IF_ERROR(setUpStage(end, *stage, setup));
  if (setup.isHead && config.shape().hasDraft)
    SLUICE_RETURN_IF_ERROR(setUpDraft(end, setup));
  return setup;
}

Expected<std::vector<std::unique_ptr<RankRuntime>>> RankLoader::load() {
  std::vector<RankSetup> setups;
  for (size_t end = 0; end < links.ends().size(); ++end) {
    Expected<RankSetup> setup = setUp(end);
    if (!setup)
      return setup.status();
    setups.push_back(setup.take());
  }
  SLUICE_RETURN_IF_ERROR(makeParts(setups));
  std::vector<std::unique_ptr<RankRuntime>> ranks;
  for (size_t end = 0; end < setups.size(); ++end) {
    Expected<std::unique_ptr<RankRuntime>> rank =
        RankRuntime::create(std::move(setups[end]), *links.ends()[end]);
    if (!rank)
      return rank.status();
    ranks.push_back(rank.take());
  }
  return ranks;
}
