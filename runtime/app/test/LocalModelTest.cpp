//===- LocalModelTest.cpp - stages chained are one model ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/LocalModel.h"
#include "runtime/device/cpu/test/TinyProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::cpu;
using testing::HasSubstr;

namespace {

class LocalModelTest : public testing::Test {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
  }

  std::unique_ptr<LocalModel> make(const std::vector<TinyPart> &parts,
                                   const LocalModelLimits &limits) {
    std::vector<CpuProgram> programs;
    for (TinyPart part : parts)
      programs.push_back(tiny.program(part));
    Expected<std::unique_ptr<LocalModel>> made =
        LocalModel::create(std::move(programs), limits);
    EXPECT_TRUE(made) << made.status().message();
    return made ? made.take() : nullptr;
  }

  /// Returns the message of a step of one row.
  std::string stepMessage(LocalModel &model, SequenceId sequence,
                          int64_t position, int32_t token) {
    StepBatch batch(1, 1);
    EXPECT_TRUE(batch.add(sequence, position, token, true).ok());
    return model.execute(batch).message();
  }

  TinyProgram tiny{Isa::Avx2};
};

TEST_F(LocalModelTest, StagesAreOneModel) {
  LocalModelLimits limits;
  limits.rows = 50;
  limits.outputs = 50;
  std::vector<std::vector<float>> logits;
  for (int64_t threads : {1, 2})
    for (const std::vector<TinyPart> &parts :
         {std::vector<TinyPart>{TinyPart::Whole},
          std::vector<TinyPart>{TinyPart::FirstStage, TinyPart::SecondStage}}) {
      limits.threads = threads;
      auto model = make(parts, limits);
      SequenceId id = *model->openSequence();
      StepBatch batch(50, 50);
      std::vector<float> all;
      for (int64_t from : {0, 1, 30, 80}) {
        int64_t to = from == 0 ? 1 : from == 1 ? 30 : from == 30 ? 80 : 81;
        batch.clear();
        for (int64_t t = from; t < to; ++t)
          ASSERT_TRUE(batch.add(id, t, int32_t(t * 7 % 50), true).ok());
        Status status = model->execute(batch);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(model->sequenceLength(id), to);
        for (int64_t output = 0; output < batch.outputs(); ++output) {
          std::span<const float> values = model->logits(output);
          all.insert(all.end(), values.begin(), values.end());
        }
      }
      EXPECT_EQ(all.size(), 81u * 50);
      logits.push_back(std::move(all));
    }
  for (const std::vector<float> &each : logits)
    EXPECT_EQ(each, logits[0]);
}

TEST_F(LocalModelTest, ARefusedStepChangesNothing) {
  LocalModelLimits limits;
  limits.rows = 40;
  limits.sequences = 2;
  limits.contextLength = 40;
  limits.cacheTokens = 64;
  auto model = make({TinyPart::FirstStage, TinyPart::SecondStage}, limits);
  SequenceId a = *model->openSequence();
  EXPECT_EQ(stepMessage(*model, 1, 0, 0), "step: sequence 1 is not open");
  EXPECT_EQ(stepMessage(*model, 99, 0, 0), "step: sequence 99 is not open");
  EXPECT_EQ(stepMessage(*model, a, 1, 0),
            "step: sequence 0: position 1 does not continue its 0 tokens");
  EXPECT_EQ(stepMessage(*model, a, 0, 50),
            "step: token 50 at position 0 is not in the vocabulary of 50");
  EXPECT_EQ(model->sequenceLength(a), 0);
  EXPECT_EQ(model->execute(StepBatch(1, 1)).message(), "step: no rows");

  SequenceId b = *model->openSequence();
  EXPECT_FALSE(model->openSequence());
  StepBatch batch(40, 1);
  ASSERT_TRUE(batch.add(a, 0, 1, false).ok());
  for (int64_t t = 0; t < 33; ++t)
    ASSERT_TRUE(batch.add(b, t, 1, false).ok());
  EXPECT_THAT(model->execute(batch).message(),
              HasSubstr("of 32 tokens and 0 are free"));
  EXPECT_EQ(model->sequenceLength(a), 0);
  EXPECT_EQ(model->sequenceLength(b), 0);
  EXPECT_EQ(stepMessage(*model, b, 0, 1), "");
  EXPECT_EQ(model->sequenceLength(b), 1);
  model->truncateSequence(b, 0);
  EXPECT_EQ(model->sequenceLength(b), 0);

  batch.clear();
  for (int64_t t = 0; t < 40; ++t)
    ASSERT_TRUE(batch.add(b, t, 1, false).ok());
  EXPECT_EQ(model->execute(batch).message(), "");
  EXPECT_THAT(stepMessage(*model, b, 40, 0), HasSubstr("the limit of 40"));
}

TEST_F(LocalModelTest, StagesMustFollowEachOther) {
  auto message = [&](const std::vector<TinyPart> &parts,
                     const LocalModelLimits &limits = {}, auto... change) {
    std::vector<CpuProgram> programs;
    for (TinyPart part : parts)
      programs.push_back(tiny.program(part));
    (change(programs), ...);
    return LocalModel::create(std::move(programs), limits).status().message();
  };
  constexpr TinyPart first = TinyPart::FirstStage, whole = TinyPart::Whole;
  constexpr TinyPart second = TinyPart::SecondStage;
  EXPECT_EQ(message({}), "model: no program");
  EXPECT_EQ(message({second}), "model: stage 0 has no embedding");
  EXPECT_EQ(message({first}), "model: stage 0 has no output");
  EXPECT_EQ(message({whole, second}), "model: stage 0 has an output");
  EXPECT_EQ(message({first, whole}), "model: stage 1 has an embedding");
  EXPECT_EQ(message({first, second}, {},
                    [](auto &programs) { programs[1].hiddenSize = 32; }),
            "model: stage 1 takes rows of 32 numbers and is given 64");
  EXPECT_EQ(message({first, second}, {},
                    [](auto &programs) { programs[1].contextLength = 99; }),
            "model: stage 1 has a context of 99, not 100");
  EXPECT_EQ(message({whole}, {.contextLength = 101}),
            "model: a context of 101 tokens is not between 1 and 100");
  EXPECT_THAT(message({whole}, {.sequences = 0}), HasSubstr("0 sequences"));
  EXPECT_THAT(message({whole}, {.threads = -1}), HasSubstr("-1 threads"));
  EXPECT_THAT(message({whole}, {.rows = 0}), HasSubstr("rows: 0"));
}

TEST_F(LocalModelTest, LimitsOfZeroAreFilledIn) {
  auto model = make({TinyPart::Whole}, {.sequences = 3});
  EXPECT_EQ(model->limits().contextLength, 100);
  EXPECT_EQ(model->limits().cacheTokens, 3 * 128);
  EXPECT_GE(model->limits().threads, 1);
  EXPECT_EQ(model->vocabSize(), 50);
}

} // namespace
