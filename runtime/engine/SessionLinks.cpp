//===- SessionLinks.cpp - the connections between a session's ranks -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/SessionLinks.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/comm/EmulatedLinks.h"
#include "runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/mpi/MpiCommunicator.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

Status SessionLinks::connect(const std::optional<comm::MpiLaunch> &launch) {
  comm::CommunicatorOptions limits;
  limits.capacity = config.settings().channelFrames;
  isJob = launch && launch->size > 1;
  if (isJob) {
    ownRank = launch->rank;
    comm::MpiLaunch placed = *launch;
    Expected<std::unique_ptr<comm::Communicator>> made =
        comm::connectMpi(placed, limits);
    if (!made)
      return made.status();
    rankOnMachine = placed.localRank.value();
    communicators.push_back(made.take());
  } else {
    communicators = comm::makeInprocJob(config.shape().ranks, limits);
  }
  return {};
}

Expected<NcclFinding> SessionLinks::findNccl(int64_t rank) {
  NcclFinding found;
  found.hasStage = stageOf(config.plan().ranks[size_t(rank)]).has_value();
  if (!found.hasStage)
    return found;
  Expected<std::shared_ptr<cuda::Device>> gpu = engine.gpu(gpuOf(rank));
  if (!gpu)
    return gpu.status();
  found.gpu = (*gpu)->properties().identity;
  Expected<comm::NcclLibrary> opened = comm::openNccl();
  found.why = opened.status().message();
  if (!opened)
    return found;
  found.version = opened->version;
  nccl = *opened;
  return found;
}

bool SessionLinks::hasGroups() const {
  return std::ranges::any_of(config.plan().stages, [](const PlanStage &stage) {
    return stage.members() > 1;
  });
}

/// Returns why NCCL cannot be used between the stages' GPUs, or ""; the same on
/// all ranks.
Expected<std::string> SessionLinks::findObstacle() {
  std::vector<NcclFinding> all;
  for (const std::unique_ptr<comm::Communicator> &each : communicators) {
    Expected<NcclFinding> found = findNccl(each->rank());
    if (!found)
      return found.status();
    all.push_back(found.take());
  }
  return isJob ? agreeOnNccl(*communicators.front(), all.front())
               : ncclObstacle(all);
}

/// Returns why rows do not travel by NCCL even if it can be used, or "".
std::string SessionLinks::findRowObstacle() const {
  if (config.emulation())
    return "the links of --emulate are the hosts'";
  if (config.options().activations != ActivationFormat::F32)
    return "--activations has another format than f32";
  return {};
}

Status SessionLinks::settleTransport() {
  const bool asked = config.options().transport == TransportOption::Nccl;
  if (asked && !*engine.usesGpu())
    return failure("--transport nccl: it is for GPUs, and the CPU is used");
  const bool rowsTravel = config.plan().stages.size() > 1 &&
                          config.options().transport != TransportOption::Host;
  if (!*engine.usesGpu() || (!rowsTravel && !hasGroups()))
    return {};
  std::string obstacle = findRowObstacle();
  if (obstacle.empty() || hasGroups()) {
    Expected<std::string> found = findObstacle();
    if (!found)
      return found.status();
    if (hasGroups() && !found->empty())
      return failure("GPUs of a group meet by NCCL: ", *found);
    if (obstacle.empty())
      obstacle = *found;
  }
  if (!rowsTravel)
    return {};
  if (asked && !obstacle.empty())
    return failure("--transport nccl: ", obstacle);
  rowsByNccl = obstacle.empty();
  if (ownRank == 0 && !rowsByNccl)
    writeNote("rows travel between stages through the host: " + obstacle);
  return {};
}

/// Connects the ranks of this process with the other members of their groups.
void SessionLinks::joinGroups() {
  for (size_t end = 0; end < communicators.size(); ++end) {
    comm::Communicator &communicator = *communicators[end];
    std::optional<RankRole> stage =
        stageOf(config.plan().ranks[size_t(communicator.rank())]);
    if (stage && config.plan().stages[size_t(stage->stage)].members() > 1)
      groups.try_emplace(end, communicator,
                         config.plan().ranksOf(stage->stage));
  }
}

/// Connects the GPUs of groups.
Status SessionLinks::connectGroups() {
  std::vector<GpuGroupMember> members;
  for (auto &[end, group] : groups) {
    comm::Communicator *communicator = communicators[end].get();
    Expected<std::shared_ptr<cuda::Device>> gpu =
        engine.gpu(gpuOf(communicator->rank()));
    if (!gpu)
      return gpu.status();
    members.push_back({communicator, &group.collectives, gpu->get()});
  }
  SLUICE_RETURN_IF_ERROR(connectGpuGroups(members, nccl));
  for (size_t i = 0; auto &[end, group] : groups)
    group.gpus = std::move(members[i++].gpus);
  if (ownRank == 0 && hasGroups())
    writeNote("GPUs of a group meet by NCCL");
  return {};
}

/// Connects the GPUs between which rows travel.
Status SessionLinks::connectGpus() {
  comm::NcclOptions wanted;
  wanted.capacity = config.settings().channelFrames;
  for (size_t stage = 1; stage < config.shape().stageRanks.size(); ++stage)
    wanted.ways.push_back({config.shape().stageRanks[stage - 1],
                           config.shape().stageRanks[stage]});
  std::vector<cuda::Device *> devices;
  for (const std::unique_ptr<comm::Communicator> &each : communicators) {
    devices.push_back(nullptr);
    if (!stageOf(config.plan().ranks[size_t(each->rank())]))
      continue;
    Expected<std::shared_ptr<cuda::Device>> gpu =
        engine.gpu(gpuOf(each->rank()));
    if (!gpu)
      return gpu.status();
    devices.back() = gpu->get();
  }
  SLUICE_RETURN_IF_ERROR(
      connectByNccl(communicators, nccl, devices, wanted,
                    config.limits().stage().rows * config.shape().hiddenSize *
                        int64_t(sizeof(float))));
  if (ownRank == 0)
    writeNote("rows travel between stages by NCCL, from GPU to GPU");
  return {};
}

void SessionLinks::emulate() {
  const pipeline::Emulation *emulation = config.emulation();
  if (!emulation)
    return;
  std::vector<comm::EmulatedLink> links;
  for (int64_t from = 0; from < config.shape().ranks; ++from)
    for (int64_t to = 0; to < config.shape().ranks; ++to) {
      const cluster::Link &link = emulation->link(from, to);
      links.push_back(
          {cluster::toTime(link.latencySeconds), link.bytesPerSecond});
    }
  for (std::unique_ptr<comm::Communicator> &each : communicators)
    each = comm::emulateLinks(std::move(each), links,
                              config.settings().channelFrames);
}

Status SessionLinks::connectDevices() {
  if (rowsByNccl)
    SLUICE_RETURN_IF_ERROR(connectGpus());
  joinGroups();
  return *engine.usesGpu() ? connectGroups() : Status();
}

GroupLinks *SessionLinks::groupOf(size_t end) {
  auto found = groups.find(end);
  return found == groups.end() ? nullptr : &found->second;
}

comm::NcclCommunicator *SessionLinks::deviceRowsOf(size_t end) const {
  return rowsByNccl
             ? static_cast<comm::NcclCommunicator *>(communicators[end].get())
             : nullptr;
}
