//===- CheckpointTest.cpp - rows that leave change no other row -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many sequences share steps and lose rows at random checkpoints. The same
// sequences are computed alone, without stages, checkpoints or batch mates. The
// living rows must have the same results.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyModel.h"

#include <algorithm>
#include <memory>
#include <tuple>

using namespace sluice;
using namespace sluice::cpu;

namespace {

const std::vector<TinyPart> twoStages = {TinyPart::FirstStage,
                                         TinyPart::SecondStage};

/// The parameters are the instruction set and the number of threads.
class CheckpointTest : public testing::TestWithParam<std::tuple<Isa, int64_t>> {
protected:
  void SetUp() override {
    if (Status s = requireIsa(isaName(isa())); !s.ok())
      GTEST_SKIP() << s.message();
    whole = std::make_unique<TinyModel>(tiny, std::vector{TinyPart::Whole},
                                        TinyModel::Limits{.rows = 100});
  }

  Isa isa() const { return std::get<0>(GetParam()); }
  int64_t threads() const { return std::get<1>(GetParam()); }

  TinyProgram tiny{isa()};
  std::unique_ptr<TinyModel> whole;
};

/// A sequence whose rows die from some position on.
struct Growing {
  SequenceId id;
  std::vector<int32_t> tokens; ///< those that have been computed
  int64_t added = 0;           ///< rows of this step
  int64_t living = 0;          ///< rows of this step that live
  /// The checkpoint at which the other rows leave.
  int64_t deathAt = 0;
};

/// Runs steps of several sequences. Compares the logits of all living rows.
void runRandomSteps(TinyModel &model, TinyModel &whole, unsigned seed,
                    int64_t checkpoints) {
  std::mt19937 random(seed);
  std::vector<Growing> all(4);
  for (Growing &each : all)
    each.id = *model.pages().open();
  StepBatch batch(32, 32);
  for (int step = 0; step < 6; ++step) {
    batch.clear();
    for (Growing &each : all) {
      each.added = static_cast<int64_t>(random() % 9);
      each.living = static_cast<int64_t>(random() % (each.added + 1));
      if (random() % 4 == 0)
        each.living = each.added;
      each.deathAt = static_cast<int64_t>(random() % checkpoints);
      for (int32_t token : randomTokens(each.added, random())) {
        ASSERT_TRUE(
            batch.add(each.id, int64_t(each.tokens.size()), token, random() % 2)
                .ok());
        each.tokens.push_back(token);
      }
    }
    if (batch.rows() == 0)
      continue;
    auto lives = [&](SequenceId id, int64_t position, int64_t checkpoint) {
      const Growing &each = *std::find_if(
          all.begin(), all.end(), [&](const Growing &g) { return g.id == id; });
      int64_t dead = int64_t(each.tokens.size()) - each.added + each.living;
      return position < dead || checkpoint < each.deathAt;
    };
    Reaper reaper(batch, [&](int64_t checkpoint, int64_t row) {
      return !lives(batch.sequences()[row], batch.positions()[row], checkpoint);
    });
    model.place(batch);
    Status status = model.execute(batch, &reaper);
    ASSERT_TRUE(status.ok()) << status.message();

    int64_t living = 0;
    for (const Growing &each : all)
      living += each.living;
    ASSERT_EQ(batch.rows(), living);
    for (int64_t output = 0; output < batch.outputs(); ++output) {
      int32_t row = batch.outputRows()[output];
      const Growing &each =
          *std::find_if(all.begin(), all.end(), [&](const Growing &g) {
            return g.id == batch.sequences()[row];
          });
      std::vector<int32_t> path(each.tokens.begin(),
                                each.tokens.begin() + batch.positions()[row] +
                                    1);
      ASSERT_EQ(model.logits(output), logitsAlone(whole, path))
          << "seed " << seed << " step " << step << " row " << row;
    }
    for (Growing &each : all) {
      each.tokens.resize(each.tokens.size() - size_t(each.added - each.living));
      model.pages().truncate(each.id, int64_t(each.tokens.size()));
    }
  }
}

TEST_P(CheckpointTest, TheLivingNeverSeeTheDead) {
  TinyModel model(
      tiny, {TinyPart::WholeWithCheckpoints},
      {.rows = 32, .outputs = 32, .sequences = 4, .threads = threads()});
  for (unsigned seed = 0; seed < 100; ++seed) {
    runRandomSteps(model, *whole, seed, TinyProgram::checkpoints);
    for (SequenceId id = 0; id < 4; ++id)
      model.pages().close(id);
    if (HasFatalFailure())
      return;
  }
}

TEST_P(CheckpointTest, NorInStages) {
  TinyModel model(
      tiny, twoStages,
      {.rows = 32, .outputs = 32, .sequences = 4, .threads = threads()});
  for (unsigned seed = 100; seed < 200; ++seed) {
    runRandomSteps(model, *whole, seed, TinyProgram::checkpoints + 1);
    for (SequenceId id = 0; id < 4; ++id)
      model.pages().close(id);
    if (HasFatalFailure())
      return;
  }
}

TEST_P(CheckpointTest, WithoutAHandlerNobodyDies) {
  std::vector<int32_t> tokens = randomTokens(70, 1);
  Logits expected = logitsAlone(*whole, tokens);
  for (const std::vector<TinyPart> &parts :
       {std::vector<TinyPart>{TinyPart::WholeWithCheckpoints}, twoStages}) {
    TinyModel model(tiny, parts, {.rows = 70, .threads = threads()});
    EXPECT_EQ(logitsAlone(model, tokens), expected);
  }
}

TEST_P(CheckpointTest, AStepWithoutTheLivingEndsAtOnce) {
  TinyModel model(tiny, twoStages, {.rows = 8, .threads = threads()});
  SequenceId id = *model.pages().open();
  for (int64_t last = 0; last < TinyProgram::checkpoints + 1; ++last) {
    StepBatch batch(8, 1);
    for (int64_t t = 0; t < 8; ++t)
      ASSERT_TRUE(batch.add(id, t, 3, t == 7).ok());
    Reaper reaper(batch, [&](int64_t checkpoint, int64_t row) {
      return checkpoint == last;
    });
    model.place(batch);
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    EXPECT_EQ(batch.rows(), 0);
    EXPECT_EQ(batch.outputs(), 0);
    EXPECT_EQ(reaper.count, last + 1);
    model.pages().truncate(id, 0);
  }
}

TEST_P(CheckpointTest, SixteenBitsOnTheWireKeepRowsApart) {
  std::vector<int32_t> tokens = randomTokens(40, 5);
  Logits exact = logitsAlone(*whole, tokens);
  for (ActivationFormat wire :
       {ActivationFormat::BF16, ActivationFormat::F16}) {
    TinyModel model(tiny, twoStages,
                    {.rows = 40, .threads = threads(), .wire = wire});
    Logits together = logitsAlone(model, tokens);
    SequenceId id = *model.pages().open();
    StepBatch batch(1, 1);
    for (int64_t t = 0; t < 40; ++t) {
      batch.clear();
      ASSERT_TRUE(batch.add(id, t, tokens[t], true).ok());
      model.place(batch);
      ASSERT_TRUE(model.execute(batch).ok());
    }
    EXPECT_EQ(model.logits(0), together);
    EXPECT_NE(together, exact);
    float largest = *std::max_element(exact.begin(), exact.end());
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(together[i], exact[i], 0.05f * largest);
  }
}

INSTANTIATE_TEST_SUITE_P(
    IsasAndThreads, CheckpointTest,
    testing::Combine(testing::Values(Isa::Avx2, Isa::Avx512, Isa::Avx512Vnni),
                     testing::Values(1, 2, 3)));

/// Outputs are sorted by row, and rows change places when others leave.
TEST(OutputMoves, AnyRowsMayLeave) {
  std::mt19937 random(3);
  TinyProgram tiny(Isa::Avx2);
  if (!requireIsa("avx2").ok())
    GTEST_SKIP() << "this CPU lacks avx2";
  constexpr int64_t rows = 24, last = TinyProgram::checkpoints - 1;
  TinyModel model(tiny, {TinyPart::WholeWithCheckpoints},
                  {.rows = rows, .outputs = rows, .sequences = rows});
  TinyModel whole(tiny, {TinyPart::Whole}, {.rows = 1});
  std::vector<Logits> expected;
  for (int32_t token = 0; token < rows; ++token) {
    ASSERT_TRUE(model.pages().open());
    expected.push_back(logitsAlone(whole, {token}));
  }
  for (int round = 0; round < 300; ++round) {
    StepBatch batch(rows, rows);
    for (int32_t row = 0; row < rows; ++row)
      ASSERT_TRUE(batch.add(row, 0, row, random() % 4 > 0).ok());
    // Rows die at the last three checkpoints, where outputs are moved.
    std::vector<int64_t> death(rows);
    for (int64_t &checkpoint : death)
      checkpoint = last - 2 + int64_t(random() % 5);
    Reaper reaper(batch, [&](int64_t checkpoint, int64_t row) {
      return death[size_t(batch.tokens()[row])] <= checkpoint;
    });
    model.place(batch);
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    for (int64_t output = 0; output < batch.outputs(); ++output) {
      int32_t token = batch.tokens()[batch.outputRows()[output]];
      ASSERT_EQ(model.logits(output), expected[size_t(token)]) << round;
    }
  }
}

} // namespace
