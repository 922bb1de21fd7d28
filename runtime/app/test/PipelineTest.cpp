//===- PipelineTest.cpp - the same tokens under every schedule ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Invariant 1 from outside: stages, a draft and however it speculates leave
// every token the same, at any temperature; and what a run reports of itself
// adds up.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/app/test/TestStages.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments &right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

const Arguments base = {"generate", "--tokens", "5,6,7,8,9", "-n", "60"};

/// Two stages, each on a rank of its own, and a draft that is the whole model
/// again: every guess of it comes true.
ExecutableDescriptor withDraft(ExecutableDescriptor executable,
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
  plan.channels = {{"c0", 0, one, 32, Kind::Rows},
                   {"c1", one, two, 32, Kind::Activations},
                   {"c2", two, 0, 32, Kind::Tokens}};
  return executable;
}

class PipelineTest : public ProgramTest {
protected:
  /// The tokens that the model generates as one program.
  json reference(const Arguments &options) {
    describe(program);
    return runJson(base + options)["tokens"];
  }
};

TEST_F(PipelineTest, TokensAreTheSameUnderEverySchedule) {
  for (const Arguments &sampling :
       {Arguments{}, Arguments{"--temperature", "0.8", "--seed", "7"},
        Arguments{"--temperature", "0.8", "--seed", "8", "--top-k", "20",
                  "--repeat-penalty", "1.1", "--presence-penalty", "0.5"}}) {
    json expected = reference(sampling);
    ASSERT_EQ(expected.size(), 60u);
    for (DraftPlacement placement : {DraftPlacement::Own, DraftPlacement::Head})
      for (const Arguments &mode :
           {Arguments{"--speculate", "off"}, Arguments{"--speculate", "sync"},
            Arguments{"--speculate", "sync", "--sync-split"},
            Arguments{"--speculate", "sync", "--speculate-width", "3",
                      "--speculate-depth", "4"},
            Arguments{}, Arguments{"--no-cancel"},
            Arguments{"--no-fuse", "--no-continuous"},
            Arguments{"--speculate-width", "1", "--prefill-chunk", "2"},
            Arguments{"--oracle-acceptance", "0.5"},
            Arguments{"--oracle-acceptance", "0"}}) {
        describe(withDraft(program, placement));
        json result = runJson(base + sampling + mode);
        EXPECT_EQ(result["tokens"], expected) << json(sampling) << json(mode);
      }
  }
}

TEST_F(PipelineTest, NothingIsGuessedBehindTheDraftsContext) {
  json expected = reference({});
  for (int64_t context : {3, 5, 20, 64})
    for (const char *mode : {"sync", "async"}) {
      ExecutableDescriptor executable = withDraft(program, DraftPlacement::Own);
      executable.programs.back().contextLength = context;
      describe(executable);
      json result = runJson(base + Arguments{"--speculate", mode});
      EXPECT_EQ(result["tokens"], expected) << context << mode;
      EXPECT_EQ(result["speculation"]["launched"] > 0, context > 5);
    }
}

TEST_F(PipelineTest, ReportsAddUp) {
  describe(withDraft(program, DraftPlacement::Own));
  json result = runJson(base + Arguments{"--oracle-acceptance", "0.6"});
  const json &speculation = result["speculation"];
  EXPECT_EQ(speculation["mode"], "async");
  int64_t launched = speculation["launched"];
  EXPECT_GT(launched, 0);
  EXPECT_EQ(launched, speculation["accepted"].get<int64_t>() +
                          speculation["cancelled"].get<int64_t>());
  EXPECT_GT(speculation["accepted"].get<int64_t>(), 0);
  EXPECT_GT(result["tokens_per_second"].get<double>(), 0);
  ASSERT_EQ(result["stages"].size(), 3u);
  for (const json &stage : result["stages"]) {
    EXPECT_GT(stage["steps"].get<int64_t>(), 0);
    EXPECT_GE(stage["rows"].get<int64_t>(), stage["steps"].get<int64_t>());
  }
  for (const json &hop : result["traffic"])
    EXPECT_GT(hop["bytes"].get<int64_t>() + hop["control_bytes"].get<int64_t>(),
              0);
}

TEST_F(PipelineTest, LogProbabilitiesTravel) {
  describe(program);
  json expected = runJson(base + Arguments{"--logprobs", "3"})["logprobs"];
  describe(withDraft(program, DraftPlacement::Own));
  json found = runJson(base + Arguments{"--logprobs", "3"})["logprobs"];
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["token"], expected[i]["token"]);
    EXPECT_NEAR(found[i]["logprob"], expected[i]["logprob"], 1e-5);
    ASSERT_EQ(found[i]["top"].size(), 3u);
    for (size_t k = 0; k < 3; ++k)
      EXPECT_EQ(found[i]["top"][k]["token"], expected[i]["top"][k]["token"]);
  }
}

TEST_F(PipelineTest, WritesATrace) {
  describe(withDraft(program, DraftPlacement::Own));
  std::string path = folder + "/trace.json";
  runJson(base + Arguments{"--trace", path});
  std::ifstream file(path);
  json trace = json::parse(file);
  EXPECT_GT(trace["traceEvents"].size(), 100u);
  EXPECT_THAT(runFailing(base + Arguments{"--trace", "/nowhere/t"}, 1),
              HasSubstr("--trace"));
}

TEST_F(PipelineTest, RefusesWhatThePlanCannotDo) {
  describe(inStages(program));
  EXPECT_THAT(runFailing(base + Arguments{"--speculate", "async"}, 1),
              HasSubstr("has no draft"));
  EXPECT_THAT(runFailing(base + Arguments{"--speculate", "often"}, 2),
              HasSubstr("--speculate"));
  EXPECT_THAT(runFailing(base + Arguments{"--trace", folder + "/t"}, 1),
              HasSubstr("several stages on one rank"));
  describe(withDraft(program, DraftPlacement::Own));
  EXPECT_THAT(runFailing(base + Arguments{"--emulate", "/nowhere.yaml"}, 1),
              HasSubstr("/nowhere.yaml"));
}

} // namespace
