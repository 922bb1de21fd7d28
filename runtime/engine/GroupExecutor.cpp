//===- GroupExecutor.cpp - a tensor-parallel group in this process --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/GroupExecutor.h"

#include "runtime/comm/Collectives.h"
#include "runtime/comm/inproc/InprocCommunicator.h"

#include <numeric>

using namespace sluice;
using namespace sluice::engine;

namespace {

class GroupExecutor final : public device::StepExecutor {
public:
  explicit GroupExecutor(int64_t count)
      : job(comm::makeInprocJob(count)), team(count) {
    std::vector<int64_t> ranks(job.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::unique_ptr<comm::Communicator> &each : job)
      members.push_back(std::make_unique<Member>(*each, ranks));
  }

  Status make(const std::vector<cpu::CpuProgram> &programs,
              cpu::CacheFormat format, const CpuTeam &threads,
              const device::StepLimits &limits);

  bool hasEmbedding() const override { return first().hasEmbedding(); }
  bool hasOutput() const override { return first().hasOutput(); }
  int64_t vocabSize() const override { return first().vocabSize(); }
  int64_t hiddenSize() const override { return first().hiddenSize(); }
  int64_t outputLimit() const override { return first().outputLimit(); }
  Status execute(const device::StepInput &input) override;
  std::span<const float> logits(int64_t output) const override {
    return first().logits(output);
  }

private:
  struct Member {
    Member(comm::Communicator &communicator, const std::vector<int64_t> &ranks)
        : group(communicator, ranks), collectives(group) {}
    comm::RankGroup group;
    comm::Collectives collectives;
    std::unique_ptr<device::StepExecutor> executor;
    std::vector<uint8_t> unsent; // rows that members after the first would send
    Status status;               // of the step
  };

  const device::StepExecutor &first() const {
    return *members.front()->executor;
  }

  std::vector<std::unique_ptr<comm::Communicator>> job;
  std::vector<std::unique_ptr<Member>> members;
  cpu::ThreadPool team; // one thread for each member
};

Status GroupExecutor::make(const std::vector<cpu::CpuProgram> &programs,
                           cpu::CacheFormat format, const CpuTeam &threads,
                           const device::StepLimits &limits) {
  auto count = int64_t(members.size());
  if (team.threads() != count)
    return failure("model: the system gives ", team.threads(), " threads to ",
                   count, " members of a group");
  for (size_t i = 0; i < members.size(); ++i) {
    Member &member = *members[i];
    Expected<std::unique_ptr<device::StepExecutor>> made =
        cpuStage(programs[i], format, threads.part(int64_t(i), count),
                 /*pool=*/nullptr, &member.collectives)
            .make(limits);
    if (!made)
      return made.status();
    member.executor = made.take();
  }
  return {};
}

Status GroupExecutor::execute(const device::StepInput &input) {
  for (std::unique_ptr<Member> &member : members)
    member->unsent.resize(input.outgoing.size());
  auto body = [&](int64_t index) {
    Member &member = *members[size_t(index)];
    device::StepInput own = input;
    if (index > 0)
      own.outgoing = member.unsent;
    member.status = member.executor->execute(own);
  };
  team.run(body);
  for (const std::unique_ptr<Member> &member : members)
    if (!member->status.ok())
      return member->status;
  return {};
}

} // namespace

LocalStage engine::cpuGroup(std::vector<cpu::CpuProgram> members,
                            cpu::CacheFormat format, const CpuTeam &team) {
  const cpu::CpuProgram &first = members.front();
  LocalStage stage = {first.hasEmbedding,  first.hasOutput, first.hiddenSize,
                      first.contextLength, nullptr,         nullptr};
  stage.make = [=,
                members = std::move(members)](const device::StepLimits &limits)
      -> Expected<std::unique_ptr<device::StepExecutor>> {
    auto group = std::make_unique<GroupExecutor>(int64_t(members.size()));
    SLUICE_RETURN_IF_ERROR(group->make(members, format, team, limits));
    return std::unique_ptr<device::StepExecutor>(std::move(group));
  };
  return stage;
}
