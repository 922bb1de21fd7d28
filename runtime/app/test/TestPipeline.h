//===- TestPipeline.h - the test program as a pipeline --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of TestProgram.cpp's programs with a draft, and options for running
// them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TEST_TESTPIPELINE_H
#define SLUICE_RUNTIME_APP_TEST_TESTPIPELINE_H

#include "runtime/engine/test/TestStages.h"

#include <fstream>
#include <string>
#include <vector>

namespace sluice::test {

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments left, const Arguments &right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline const Arguments base = {"generate", "--tokens", "5,6,7,8,9", "-n", "60"};

/// Returns an executable with two stages, each on its own rank, and a draft
/// that equals the whole model, so that every guess is right.
inline ExecutableDescriptor withDraft(ExecutableDescriptor executable,
                                      DraftPlacement placement) {
  ProgramDescriptor draft = executable.programs[0];
  draft.name = "draft";
  executable = inStages(executable);
  executable.programs.push_back(draft);
  ExecutionPlan &plan = executable.plan;
  bool own = placement == DraftPlacement::Own;
  RankRole head{RankRole::Kind::Head, 0}, drafter{RankRole::Kind::Draft, 0};
  RankRole first{RankRole::Kind::Stage, 0}, second{RankRole::Kind::Stage, 1};
  if (own)
    plan.ranks = {{{head, drafter}, ""}, {{first}, ""}, {{second}, ""}};
  else
    plan.ranks = {{{head, drafter, first}, ""}, {{second}, ""}};
  PlanDraft planned;
  planned.program = "draft";
  planned.placement = placement;
  planned.costs.fill(std::chrono::microseconds(50));
  plan.draft = planned;
  for (PlanStage &stage : plan.stages)
    stage.costs.fill(std::chrono::microseconds(100));
  using Kind = PlanChannel::Kind;
  int64_t one = own ? 1 : 0, two = own ? 2 : 1;
  constexpr int64_t frames = defaultChannelFrames;
  plan.channels = {{"c0", 0, one, frames, Kind::Rows},
                   {"c1", one, two, frames, Kind::Activations},
                   {"c2", two, 0, frames, Kind::Tokens}};
  return executable;
}

/// Options for steps of some milliseconds, so that cancels find rows in them.
inline Arguments emulation(const std::string &folder) {
  std::string path = folder + "/cluster.yaml";
  std::ofstream(path) << R"(
name: small
target: target
draft: draft
models:
  - {name: target, layers: 4, hidden: 1024, feed_forward: 4096, heads: 8,
     kv_heads: 8, head_dim: 128, vocab: 1000, format: q8_0}
  - {name: draft, layers: 1, hidden: 128, feed_forward: 256, heads: 1,
     kv_heads: 1, head_dim: 128, vocab: 1000, format: q8_0}
nodes:
  - name: n0
    devices:
      - {kind: cpu, memory: 8 GiB, bandwidth: 10 GB/s, flops: 10 TFLOP/s}
  - {name: n1, like: n0}
  - {name: head, like: n0, draft: true}
links:
  default: {latency: 100 us, bandwidth: 1 GB/s}
)";
  return {"--emulate", path, "--emulate-max-latency-us", "500"};
}

} // namespace sluice::test

#endif // SLUICE_RUNTIME_APP_TEST_TESTPIPELINE_H
