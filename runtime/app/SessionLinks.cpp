//===- SessionLinks.cpp - the connections between a session's ranks -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineSession.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/comm/EmulatedLinks.h"
#include "runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/mpi/MpiCommunicator.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

Status PipelineSession::connect(const std::optional<comm::MpiLaunch> &launch) {
  comm::CommunicatorOptions limits;
  limits.capacity = settings.channelFrames;
  severalProcesses = launch && launch->size > 1;
  if (severalProcesses) {
    here = launch->rank;
    comm::MpiLaunch placed = *launch;
    Expected<std::unique_ptr<comm::Communicator>> made =
        comm::connectMpi(placed, limits);
    if (!made)
      return made.status();
    localRank = placed.localRank.value();
    communicators.push_back(made.take());
  } else {
    communicators = comm::makeInprocJob(shape.ranks, limits);
  }
  return {};
}

/// Returns the GPU of a rank. Ranks on one machine share its GPUs by their
/// order there.
int64_t PipelineSession::gpuOf(int64_t rank) const {
  return severalProcesses ? localRank : rank;
}

Expected<NcclFinding> PipelineSession::findNccl(int64_t rank) {
  NcclFinding found;
  found.hasStage = stageOf(plan.ranks[size_t(rank)]).has_value();
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

bool PipelineSession::hasGroups() const {
  return std::ranges::any_of(
      plan.stages, [](const PlanStage &stage) { return stage.members() > 1; });
}

/// Returns why NCCL cannot be used between the stages' GPUs, or ""; the same on
/// all ranks.
Expected<std::string> PipelineSession::findObstacle() {
  std::vector<NcclFinding> all;
  for (const std::unique_ptr<comm::Communicator> &each : communicators) {
    Expected<NcclFinding> found = findNccl(each->rank());
    if (!found)
      return found.status();
    all.push_back(found.take());
  }
  return severalProcesses ? agreeOnNccl(*communicators.front(), all.front())
                          : ncclObstacle(all);
}

/// Returns why rows do not travel by NCCL even if it can be used, or "".
std::string PipelineSession::findRowObstacle() const {
  if (emulation)
    return "the links of --emulate are the hosts'";
  if (options.activations != ActivationFormat::F32)
    return "--activations has another format than f32";
  return {};
}

/// Chooses how rows travel between the stages and connects the members of
/// groups, in agreement with all ranks.
Status PipelineSession::settleTransport() {
  const bool asked = options.transport == TransportOption::Nccl;
  if (asked && !*engine.usesGpu())
    return failure("--transport nccl: it is for GPUs, and the CPU is used");
  const bool rowsTravel =
      plan.stages.size() > 1 && options.transport != TransportOption::Host;
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
  if (isHead() && !rowsByNccl)
    writeNote("rows travel between stages through the host: " + obstacle);
  return {};
}

/// Connects the ranks of this process with the other members of their groups.
void PipelineSession::joinGroups() {
  for (size_t end = 0; end < communicators.size(); ++end) {
    comm::Communicator &communicator = *communicators[end];
    std::optional<RankRole> stage =
        stageOf(plan.ranks[size_t(communicator.rank())]);
    if (stage && plan.stages[size_t(stage->stage)].members() > 1)
      groups.try_emplace(end, communicator, plan.ranksOf(stage->stage));
  }
}

/// Connects groups of GPUs; see connectGpus().
Status PipelineSession::connectGroups() {
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
  if (isHead() && hasGroups())
    writeNote("GPUs of a group meet by NCCL");
  return {};
}

/// Connects GPUs. Must be called before programs are loaded, which use the
/// remaining memory.
Status PipelineSession::connectGpus() {
  comm::NcclOptions wanted;
  wanted.capacity = settings.channelFrames;
  for (size_t stage = 1; stage < shape.stageRanks.size(); ++stage)
    wanted.ways.push_back(
        {shape.stageRanks[stage - 1], shape.stageRanks[stage]});
  std::vector<cuda::Device *> devices;
  for (const std::unique_ptr<comm::Communicator> &each : communicators) {
    devices.push_back(nullptr);
    if (!stageOf(plan.ranks[size_t(each->rank())]))
      continue;
    Expected<std::shared_ptr<cuda::Device>> gpu =
        engine.gpu(gpuOf(each->rank()));
    if (!gpu)
      return gpu.status();
    devices.back() = gpu->get();
  }
  SLUICE_RETURN_IF_ERROR(
      connectByNccl(communicators, nccl, devices, wanted,
                    settings.limits(shape).stage().rows * shape.hiddenSize *
                        int64_t(sizeof(float))));
  if (isHead())
    writeNote("rows travel between stages by NCCL, from GPU to GPU");
  return {};
}

void PipelineSession::emulateLinks() {
  if (!emulation)
    return;
  std::vector<comm::EmulatedLink> links;
  for (int64_t from = 0; from < shape.ranks; ++from)
    for (int64_t to = 0; to < shape.ranks; ++to) {
      const cluster::Link &link = emulation->link(from, to);
      links.push_back(
          {cluster::toTime(link.latencySeconds), link.bytesPerSecond});
    }
  for (std::unique_ptr<comm::Communicator> &each : communicators)
    each = comm::emulateLinks(std::move(each), links, settings.channelFrames);
}
