//===- ReportJsonTest.cpp - the schema of the JSON report -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/ReportJson.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::pipeline;
using nlohmann::ordered_json;

namespace {

std::vector<std::string> namesOf(const ordered_json &object) {
  std::vector<std::string> names;
  for (const auto &[name, value] : object.items())
    names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ReportJsonTest, HasOneSchema) {
  PipelineOutcome outcome;
  outcome.options.mode = SpeculationMode::Sync;
  outcome.speculation.accepted = 3;
  outcome.ranks.resize(2);
  outcome.ranks[1].rank = 1;
  outcome.ranks[0].stages.emplace_back().name = "draft";
  outcome.ranks[0].traffic = {{.to = 0}, {1, 5, 100, 2, 40}};
  StageReport &stage = outcome.ranks[1].stages.emplace_back();
  stage.name = "stage 0";
  stage.rank = 1;
  stage.guesses = 10;
  stage.cancelLatency = {4, 1, 2, 2.5};
  outcome.ranks[1].traffic = {{0, 7, 200, 1, 30}};
  ordered_json json = toJson(outcome);
  EXPECT_EQ(namesOf(json),
            (Names{"speculation", "draft", "stages", "traffic"}));
  EXPECT_EQ(json["speculation"]["mode"], "sync");
  EXPECT_EQ(json["draft"]["name"], "draft");
  EXPECT_FALSE(json["draft"].contains("computed_dead"));
  ASSERT_EQ(json["stages"].size(), 1u);
  EXPECT_EQ(json["stages"][0]["rank"], 1);
  EXPECT_EQ(json["stages"][0]["computed_dead"], 7);
  EXPECT_FALSE(json["stages"][0].contains("members"));
  EXPECT_EQ(
      json["stages"][0]["cancel_latency_us"],
      (ordered_json{{"count", 4}, {"p50", 1.}, {"p99", 2.}, {"max", 2.5}}));
  // Pairs of ranks without traffic are left out.
  EXPECT_EQ(json["traffic"]["messages"], 15);
  EXPECT_EQ(json["traffic"]["bytes"], 370);
  ASSERT_EQ(json["traffic"]["hops"].size(), 2u);
  EXPECT_EQ(namesOf(json["traffic"]["hops"][0]),
            (Names{"from", "to", "messages", "bytes", "control_messages",
                   "control_bytes", "group_messages", "group_bytes"}));
}

/// A reader that counts stages, or adds up their rows, counts each stage once.
TEST(ReportJsonTest, MembersOfAGroupAreOneStage) {
  PipelineOutcome outcome;
  outcome.ranks.resize(4);
  for (int64_t rank = 0; rank < 4; ++rank) {
    StageReport &stage = outcome.ranks[size_t(rank)].stages.emplace_back();
    stage.rank = rank;
    stage.member = rank % 2;
    stage.name = "stage " + std::to_string(rank / 2);
    if (stage.member > 0)
      stage.name += " member 1";
  }
  ordered_json stages = toJson(outcome)["stages"];
  ASSERT_EQ(stages.size(), 2u);
  for (int64_t stage : {0, 1}) {
    EXPECT_EQ(stages[size_t(stage)]["rank"], 2 * stage);
    const ordered_json &members = stages[size_t(stage)]["members"];
    ASSERT_EQ(members.size(), 1u);
    EXPECT_EQ(members[0]["rank"], 2 * stage + 1);
  }
}

TEST(ReportJsonTest, WithoutADraftThereIsNone) {
  ordered_json json = toJson({});
  EXPECT_EQ(namesOf(json), (Names{"speculation", "stages", "traffic"}));
  EXPECT_TRUE(json["stages"].is_array());
  EXPECT_TRUE(json["traffic"]["hops"].is_array());
}

} // namespace
