//===- SessionLinks.cpp - what connects the ranks of a session ------------===//
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
    localRanks = placed.localSize.value();
    communicators.push_back(made.take());
  } else {
    communicators = comm::makeInprocJob(shape.ranks, limits);
  }
  return {};
}

/// Ranks of one machine share its GPUs, in whatever order they fill it.
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

/// Why rows do not travel by NCCL between GPUs; the same on all ranks.
Expected<std::string> PipelineSession::findObstacle() {
  if (emulation)
    return std::string("the links of --emulate are the hosts'");
  if (options.activations != ActivationFormat::F32)
    return std::string("--activations has another format than f32");
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

/// How rows travel between the stages, which all ranks settle together.
Status PipelineSession::settleTransport() {
  const bool asked = options.transport == TransportOption::Nccl;
  if (asked && !*engine.usesGpu())
    return failure("--transport nccl: it is for GPUs, and the CPU is used");
  if (plan.stages.size() == 1 || !*engine.usesGpu() ||
      options.transport == TransportOption::Host)
    return {};
  Expected<std::string> obstacle = findObstacle();
  if (!obstacle)
    return obstacle.status();
  if (asked && !obstacle->empty())
    return failure("--transport nccl: ", *obstacle);
  rowsByNccl = obstacle->empty();
  if (isHead() && !rowsByNccl)
    writeNote("rows travel between stages through the host: " + *obstacle);
  return {};
}

/// Before programs are loaded, which take what memory is left.
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
  if (Status s = connectByNccl(communicators, nccl, devices, wanted,
                               settings.limits(shape).stage().rows *
                                   shape.hiddenSize * int64_t(sizeof(float)));
      !s.ok())
    return s;
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
