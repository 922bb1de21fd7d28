//===- ModelChainTest.cpp - stages chained are one model ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/ModelChain.h"
#include "runtime/device/cpu/test/TinyProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::engine;
using namespace sluice::cpu;
using testing::HasSubstr;

namespace {

class ModelChainTest : public testing::Test {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
  }

  std::vector<LocalStage> stages(const std::vector<TinyPart> &parts,
                                 int64_t threads = 1) {
    auto pool = std::make_shared<std::shared_ptr<ThreadPool>>();
    CpuTeam team;
    team.threads = threads;
    std::vector<LocalStage> stages;
    for (TinyPart part : parts)
      stages.push_back(
          cpuStage(tiny.program(part), CacheFormat::F32, team, pool));
    return stages;
  }

  TinyProgram tiny{Isa::Avx2};
};

TEST_F(ModelChainTest, StagesAreOneModel) {
  device::StepLimits limits;
  limits.rows = limits.outputs = 50;
  limits.pages = CachePages::pagesFor(100);
  std::vector<std::vector<float>> logits;
  for (int64_t threads : {1, 2})
    for (const std::vector<TinyPart> &parts :
         {std::vector<TinyPart>{TinyPart::Whole},
          std::vector<TinyPart>{TinyPart::FirstStage, TinyPart::SecondStage}}) {
      auto made = makeModelChain(stages(parts, threads), limits);
      ASSERT_TRUE(made) << made.status().message();
      device::StepExecutor &model = **made;
      EXPECT_TRUE(model.hasEmbedding());
      EXPECT_TRUE(model.hasOutput());
      EXPECT_EQ(model.vocabSize(), 50);
      EXPECT_EQ(model.outputLimit(), 50);
      CachePages pages = CachePages::create({limits.pages, 1, 100}).take();
      SequenceId id = *pages.open();
      StepBatch batch(50, 50);
      std::vector<float> all;
      for (int64_t from : {0, 1, 30, 80}) {
        int64_t to = from == 0 ? 1 : from == 1 ? 30 : from == 30 ? 80 : 81;
        batch.clear();
        ASSERT_TRUE(pages.grow(id, to).ok());
        for (int64_t t = from; t < to; ++t)
          ASSERT_TRUE(batch.add(id, t, int32_t(t * 7 % 50), true).ok());
        Status status = model.execute({&batch, &pages});
        ASSERT_TRUE(status.ok()) << status.message();
        for (int64_t output = 0; output < batch.outputs(); ++output) {
          std::span<const float> values = model.logits(output);
          all.insert(all.end(), values.begin(), values.end());
        }
      }
      EXPECT_EQ(all.size(), 81u * 50);
      logits.push_back(std::move(all));
    }
  for (const std::vector<float> &each : logits)
    EXPECT_EQ(each, logits[0]);
}

TEST_F(ModelChainTest, StagesMustFollowEachOther) {
  device::StepLimits usual;
  usual.pages = 4;
  auto message = [&](const std::vector<TinyPart> &parts, auto... change) {
    std::vector<LocalStage> programs = stages(parts);
    (change(programs), ...);
    return makeModelChain(programs, usual).status().message();
  };
  constexpr TinyPart first = TinyPart::FirstStage, whole = TinyPart::Whole;
  constexpr TinyPart second = TinyPart::SecondStage;
  EXPECT_EQ(message({}), "model: no program");
  EXPECT_EQ(message({second}), "model: stage 0 has no embedding");
  EXPECT_EQ(message({first}), "model: stage 0 has no output");
  EXPECT_EQ(message({whole, second}), "model: stage 0 has an output");
  EXPECT_EQ(message({first, whole}), "model: stage 1 has an embedding");
  EXPECT_EQ(message({first, second},
                    [](auto &programs) { programs[1].hiddenSize = 32; }),
            "model: stage 1 takes rows of 32 numbers and is given 64");
  EXPECT_EQ(message({first, second},
                    [](auto &programs) { programs[1].contextLength = 99; }),
            "model: stage 1 has a context of 99, not 100");
  EXPECT_EQ(message({first, second},
                    [](auto &programs) {
                      programs[1].plan = [](const device::StepLimits &) {
                        return failure("no room");
                      };
                    }),
            "no room");
  usual.rows = 0;
  EXPECT_THAT(message({whole}), HasSubstr("rows: 0"));
}

} // namespace
