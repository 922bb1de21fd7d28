//===- ExecutorTest.cpp - checks of steps, and bits that do not change ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/device/cpu/test/TinyModel.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::cpu;

namespace {

/// A sequence whose tokens are computed in chunks.
struct Chunked {
  SequenceId id;
  std::vector<int32_t> tokens;
  int64_t computed = 0;

  int64_t pending() const { return std::ssize(tokens) - computed; }

  /// Adds rows for the next tokens, at most `count`. With `wantsAll` each is an
  /// output, otherwise only the last token's.
  void add(StepBatch &batch, int64_t count, bool wantsAll) {
    count = std::min({count, pending(), batch.freeRows(), batch.freeOutputs()});
    for (int64_t end = computed + count; computed < end; ++computed)
      EXPECT_TRUE(batch
                      .add(id, computed, tokens[size_t(computed)],
                           wantsAll || computed + 1 == std::ssize(tokens))
                      .ok());
  }
};

/// Returns the logits of the last position of `tokens`, computed in steps of
/// `chunk` rows, each with rows of `mates` other sequences before and after.
Logits lastLogits(TinyModel &model, const std::vector<int32_t> &tokens,
                  int64_t chunk, int64_t mates) {
  std::mt19937 random(static_cast<unsigned>(mates));
  std::vector<Chunked> others;
  for (int64_t i = 0; i < mates; ++i)
    others.push_back({*model.pages().open(), randomTokens(90, random())});
  Chunked own = {*model.pages().open(), tokens};

  Logits result;
  StepBatch batch(model.limits().rows, model.limits().outputs);
  while (own.pending() > 0) {
    batch.clear();
    int64_t ownOutput = 0;
    size_t place = mates ? random() % (others.size() + 1) : 0;
    for (size_t i = 0; i <= others.size(); ++i) {
      if (i == place) {
        ownOutput = batch.outputs();
        own.add(batch, chunk, /*wantsAll=*/false);
      }
      if (i < others.size())
        others[i].add(batch, 1 + random() % 3, /*wantsAll=*/true);
    }
    model.place(batch);
    Status status = model.execute(batch);
    EXPECT_TRUE(status.ok()) << status.message();
    if (own.pending() == 0)
      result = model.logits(ownOutput);
  }
  model.pages().close(own.id);
  for (const Chunked &other : others)
    model.pages().close(other.id);
  return result;
}

class ExecutorIsaTest
    : public testing::TestWithParam<std::tuple<Isa, CacheFormat>> {
protected:
  void SetUp() override {
    if (!requireIsa(isaName(isa())).ok())
      GTEST_SKIP() << "this CPU lacks " << isaName(isa());
  }

  Isa isa() const { return std::get<0>(GetParam()); }
  CacheFormat format() const { return std::get<1>(GetParam()); }
};

TEST_P(ExecutorIsaTest, BatchMatesChunksAndThreadsChangeNoBit) {
  TinyProgram tiny(isa());
  std::vector<int32_t> tokens = randomTokens(75, 1);
  Logits alone;
  for (int64_t threads : {1, 2, 3}) {
    TinyModel model(tiny, {TinyPart::Whole},
                    {.rows = 160,
                     .outputs = 160,
                     .sequences = 18,
                     .threads = threads,
                     .cacheFormat = format()});
    if (alone.empty()) {
      alone = lastLogits(model, tokens, 1, 0);
      ASSERT_TRUE(std::all_of(alone.begin(), alone.end(),
                              [](float x) { return std::isfinite(x); }));
    }
    for (int64_t chunk : {1, 7, 64})
      for (int64_t mates : {0, 1, 4, 17})
        ASSERT_EQ(lastLogits(model, tokens, chunk, mates), alone)
            << threads << " threads, chunks of " << chunk << ", " << mates
            << " batch mates";
  }
}

/// A sequence that was preempted and has lost its pages is computed once more,
/// in steps of another length, and then continues with the same results.
TEST_P(ExecutorIsaTest, PreemptedSequencesGoOnAsTheyWould) {
  TinyProgram tiny(isa());
  TinyModel model(tiny, {TinyPart::Whole},
                  {.rows = 100, .sequences = 2, .cacheFormat = format()});
  std::vector<int32_t> tokens = randomTokens(75, 1);
  Logits expected = lastLogits(model, tokens, 1, 0);
  StepBatch batch(100, 1);
  auto compute = [&](SequenceId id, const std::vector<int32_t> &all,
                     int64_t from, int64_t to) {
    batch.clear();
    for (int64_t t = from; t < to; ++t)
      ASSERT_TRUE(batch.add(id, t, all[size_t(t)], t + 1 == to).ok());
    model.place(batch);
    ASSERT_TRUE(model.execute(batch).ok());
  };
  SequenceId preempted = *model.pages().open();
  for (int64_t t = 0; t < 40; ++t)
    compute(preempted, tokens, t, t + 1);
  model.pages().close(preempted);
  for (unsigned seed : {2, 3}) // fills all pages
    compute(*model.pages().open(), randomTokens(100, seed), 0, 100);
  model.pages().close(0);
  SequenceId resumed = *model.pages().open();
  compute(resumed, tokens, 0, 40);
  for (int64_t t = 40; t < 75; ++t)
    compute(resumed, tokens, t, t + 1);
  EXPECT_EQ(model.logits(0), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Isas, ExecutorIsaTest,
    testing::Combine(testing::Values(Isa::Avx2, Isa::Avx512, Isa::Avx512Vnni),
                     testing::Values(CacheFormat::F32, CacheFormat::Q8_0)),
    [](const auto &info) {
      return std::string(isaName(std::get<0>(info.param))) + "_" +
             std::string(cacheFormatName(std::get<1>(info.param)));
    });

class ExecutorTest : public testing::Test {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
  }

  /// Returns the error of a step of one row at `position` of sequence 0, after
  /// change(batch, input).
  template <typename Change> std::string message(TinyPart part, Change change) {
    TinyModel model(tiny, {part}, {.rows = 2, .outputs = 1});
    EXPECT_TRUE(model.pages().grow(*model.pages().open(), 40).ok());
    StepBatch batch(3, 3, 3);
    std::vector<uint8_t> out(2 * TinyProgram::hiddenSize * sizeof(float));
    const uint8_t *row = out.data();
    device::StepInput input;
    input.batch = &batch;
    input.pages = &model.pages();
    input.incoming = {&row, 1};
    input.outgoing = out;
    change(batch, input);
    return model.stage(0).execute(input).message();
  }

  TinyProgram tiny{Isa::Avx2};
};

TEST_F(ExecutorTest, TruncationForgetsAndNothingElse) {
  TinyModel model(tiny, {TinyPart::Whole}, {.rows = 80});
  std::vector<int32_t> tokens = randomTokens(70, 2);
  std::vector<int32_t> wrong = randomTokens(70, 3);
  Logits expected = lastLogits(model, tokens, 80, 0);

  SequenceId id = *model.pages().open();
  StepBatch batch(80, 1);
  for (int64_t t = 0; t < 70; ++t)
    ASSERT_TRUE(batch.add(id, t, t < 20 ? tokens[t] : wrong[t], false).ok());
  model.place(batch);
  ASSERT_TRUE(model.execute(batch).ok());
  model.pages().truncate(id, 20);
  batch.clear();
  for (int64_t t = 20; t < 70; ++t)
    ASSERT_TRUE(batch.add(id, t, tokens[t], t == 69).ok());
  model.place(batch);
  ASSERT_TRUE(model.execute(batch).ok());
  EXPECT_EQ(model.logits(0), expected);
}

/// The cache rounds, but only a little.
TEST_F(ExecutorTest, TheCacheHasTheFormatThatWasAskedFor) {
  std::vector<int32_t> tokens = randomTokens(75, 1);
  TinyModel exact(tiny, {TinyPart::Whole}, {.rows = 75});
  TinyModel rounded(tiny, {TinyPart::Whole},
                    {.rows = 75, .cacheFormat = CacheFormat::Q8_0});
  Logits expected = lastLogits(exact, tokens, 75, 0);
  Logits logits = lastLogits(rounded, tokens, 75, 0);
  EXPECT_NE(logits, expected);
  float largest = *std::max_element(expected.begin(), expected.end());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(logits[i], expected[i], 0.02f * largest);
  // The layout is [layer][page][token][key, value][kv head], each of 16
  // dimensions and a scale.
  EXPECT_EQ(exact.stage(0).cacheBytes(), 2u * 4 * 32 * 2 * 2 * 16 * 4);
  EXPECT_EQ(rounded.stage(0).cacheBytes(), 2u * 4 * 32 * 2 * 2 * (16 + 4));
}

TEST_F(ExecutorTest, RowsAreCheckedBeforeTheStepStarts) {
  auto rowMessage = [&](SequenceId sequence, int64_t position, int32_t token) {
    return message(
        TinyPart::Whole, [&](StepBatch &batch, device::StepInput &input) {
          EXPECT_TRUE(batch.add(sequence, position, token, true).ok());
        });
  };
  EXPECT_EQ(rowMessage(0, 39, 49), "");
  EXPECT_EQ(rowMessage(0, 0, 50),
            "step: token 50 at position 0 is not in the vocabulary of 50");
  EXPECT_EQ(rowMessage(0, 100, 0),
            "step: position 100 is beyond the context of 100");
  EXPECT_EQ(rowMessage(0, 40, 0),
            "step: sequence 0 has no page for position 40");
  EXPECT_EQ(rowMessage(1, 0, 0), "step: sequence 1 is not open");
  EXPECT_EQ(rowMessage(99, 0, 0), "step: sequence 99 is not open");

  auto rowsMessage = [&](int64_t rows, int64_t outputs) {
    return message(TinyPart::Whole,
                   [&](StepBatch &batch, device::StepInput &input) {
                     for (int64_t t = 0; t < rows; ++t)
                       EXPECT_TRUE(batch.add(0, t, 0, t < outputs).ok());
                   });
  };
  EXPECT_EQ(rowsMessage(0, 0), "step: no rows");
  EXPECT_EQ(rowsMessage(2, 1), "");
  EXPECT_EQ(rowsMessage(3, 0), "step: 3 rows is more than the limit of 2");
  EXPECT_EQ(rowsMessage(2, 2),
            "step: 2 rows ask for logits, more than the limit of 1");
  EXPECT_EQ(message(TinyPart::Whole,
                    [](StepBatch &batch, device::StepInput &input) {
                      EXPECT_TRUE(batch.add(0, 0, 0, true).ok());
                      EXPECT_TRUE(batch.addMirror(0, 1).ok());
                    }),
            "step: sequence 1 is not open");
}

/// The step of TinyProgram.cpp has a barrier after the embedding, seven in a
/// layer and one before the scores; its end is one more. At a checkpoint with a
/// handler, there are barriers before and after the handler's answer.
TEST_F(ExecutorTest, WaitsAreTimedWhereAskedFor) {
  auto run = [&](TinyPart part, int64_t threads, bool timesWaits) {
    TinyModel model(tiny, {part}, {.rows = 2, .threads = threads});
    EXPECT_TRUE(model.pages().grow(*model.pages().open(), 1).ok());
    StepBatch batch(2, 1);
    EXPECT_TRUE(batch.add(0, 0, 7, true).ok());
    Reaper nobodyDies(batch, [](int64_t, int64_t) { return false; });
    device::StepInput input;
    input.batch = &batch;
    input.pages = &model.pages();
    input.checkpoints = &nobodyDies;
    input.timesWaits = timesWaits;
    EXPECT_TRUE(model.stage(0).execute(input).ok());
    return model.stage(0).waits();
  };
  EXPECT_FALSE(run(TinyPart::Whole, 2, false));
  for (int64_t threads : {1, 2, 3}) {
    std::optional<device::StepWaits> waits =
        run(TinyPart::Whole, threads, true);
    ASSERT_TRUE(waits);
    EXPECT_EQ(waits->layers, 2);
    EXPECT_EQ(waits->barriers, 1 + 2 * 8 + 1 + 1);
    EXPECT_GE(waits->mean.count(), 0);
    EXPECT_GE(waits->longest, waits->mean);
    EXPECT_LT(waits->longest, std::chrono::seconds(100));
    EXPECT_EQ(run(TinyPart::WholeWithCheckpoints, threads, true)->barriers,
              waits->barriers + 2 * TinyProgram::checkpoints);
  }
}

TEST_F(ExecutorTest, MemoryIsCheckedBeforeTheStepStarts) {
  constexpr TinyPart first = TinyPart::FirstStage;
  constexpr TinyPart second = TinyPart::SecondStage;
  auto oneRow = [&](TinyPart part, auto change) {
    return message(part, [&](StepBatch &batch, device::StepInput &input) {
      EXPECT_TRUE(batch.add(0, 0, 49, true).ok());
      change(input);
    });
  };
  EXPECT_EQ(oneRow(first, [](device::StepInput &) {}), "");
  EXPECT_EQ(oneRow(second, [](device::StepInput &) {}), "");
  EXPECT_EQ(oneRow(TinyPart::Whole,
                   [](device::StepInput &input) { input.incoming = {}; }),
            "");
  EXPECT_EQ(
      oneRow(second, [](device::StepInput &input) { input.incoming = {}; }),
      "step: activations have come in for 0 of 1 rows");
  const uint8_t *none = nullptr;
  EXPECT_EQ(
      oneRow(second,
             [&](device::StepInput &input) { input.incoming = {&none, 1}; }),
      "step: a row's activations are missing");
  EXPECT_EQ(oneRow(first,
                   [](device::StepInput &input) {
                     input.outgoing = input.outgoing.first(255);
                   }),
            "step: 255 bytes for 1 rows of activations, which take 256");
  EXPECT_EQ(oneRow(first,
                   [](device::StepInput &input) {
                     input.outgoing = input.outgoing.first(128);
                     input.outgoingFormat = ActivationFormat::F16;
                   }),
            "");
  const uint64_t onDevice = 256;
  const char *noDevice = "step: rows in a device's memory, and there is none";
  EXPECT_EQ(oneRow(second,
                   [&](device::StepInput &input) {
                     input.incomingOnDevice = {&onDevice, 1};
                   }),
            noDevice);
  EXPECT_EQ(
      oneRow(first,
             [](device::StepInput &input) { input.keepsOutgoing = true; }),
      noDevice);
  PageCopy copy = {3, 4};
  EXPECT_EQ(
      oneRow(first,
             [&](device::StepInput &input) { input.copies = {&copy, 1}; }),
      "step: page 3 cannot be copied to 4 in a cache of 4 pages");
  CachePages large = CachePages::create({5, 1, 100}).take();
  EXPECT_TRUE(large.grow(*large.open(), 1).ok());
  EXPECT_EQ(
      oneRow(first, [&](device::StepInput &input) { input.pages = &large; }),
      "step: a table of 5 pages for a cache of 4");
}

TEST_F(ExecutorTest, StepsAllocateNothing) {
  TinyModel model(tiny, {TinyPart::FirstStage, TinyPart::SecondStage},
                  {.rows = 32, .outputs = 32, .sequences = 2, .threads = 2});
  SequenceId id = *model.pages().open();
  SequenceId other = *model.pages().open();
  ASSERT_TRUE(model.pages().grow(id, 90).ok());
  ASSERT_TRUE(model.pages().grow(other, 90).ok());
  std::vector<int32_t> tokens = randomTokens(90, 4);
  StepBatch batch(32, 32, 32);
  Reaper reaper(batch, [](int64_t checkpoint, int64_t row) {
    return checkpoint % 13 == 7 && row % 3 == 1;
  });
  bool ok = true;
  int64_t before = 0;
  // The first round allocates room for the activations' addresses.
  for (int round = 0; round < 2; ++round) {
    before = sluice::test::allocations();
    for (int64_t t = 0; t < 90;) {
      batch.clear();
      for (int64_t row = 0; row < 30; ++row, ++t)
        ok &= batch.add(id, t, tokens[t], row % 2 == 0).ok();
      for (int64_t row = 0; row < 30; ++row)
        ok &= batch.addMirror(row, other).ok();
      model.addCopy({0, 1});
      ok &= model.execute(batch, &reaper).ok();
    }
  }
  EXPECT_TRUE(ok);
  EXPECT_EQ(sluice::test::allocations(), before);
}

TEST_F(ExecutorTest, ProgramsAndLimitsAreChecked) {
  auto message = [&](auto change) {
    CpuProgram program = tiny.program();
    CpuExecutorOptions limits;
    limits.pages = 4;
    change(program, limits);
    return CpuExecutor::create(std::move(program), limits).status().message();
  };
  EXPECT_EQ(message([](auto &p, auto &) { p.step.tasks.clear(); }),
            "executor: the program has no tasks");
  EXPECT_EQ(message([](auto &p, auto &) { p.kernels.pop_back(); }),
            "executor: the program has 5 row kernels, and its plan names 6");
  EXPECT_EQ(message([](auto &p, auto &) { p.rowFloats = -1; }),
            "executor: row floats: -1 is not between 1 and 1099511627776");
  EXPECT_EQ(message([](auto &p, auto &) { p.outputFloats = 60; }),
            "executor: logits end at 114 of 60 floats of an output");
  EXPECT_EQ(message([](auto &p, auto &) { p.weights[3] = PackedWeight(); }),
            "executor: weight 3 has no data");
  EXPECT_EQ(message([](auto &p, auto &) {
              p.weights[0] = EmbeddingTable{Format::Q8_0, nullptr, 1, 33};
            }),
            "executor: weight 0 is not a table of q8_0 rows");
  EXPECT_EQ(message([](auto &p, auto &) {
              std::get<EmbeddingTable>(p.weights[0]).rows = 9;
            }),
            "executor: weight 0: a table of 9 rows has none for each token or "
            "position");
  EXPECT_EQ(
      message([](auto &p, auto &) { p.weights[2] = std::span<const float>(); }),
      "executor: weight 2 is an empty vector");
  EXPECT_EQ(message([](auto &p, auto &) { p.caches[0].headDim = 0; }),
            "cache: a head size of 0 is not between 1 and 1024");
  EXPECT_EQ(message([](auto &, auto &l) { l.contextLength = 101; }),
            "executor: context length: 101 is not between 1 and 100");
  EXPECT_EQ(message([](auto &, auto &l) { l.rows = 0; }),
            "executor: rows: 0 is not between 1 and 1048576");
  EXPECT_EQ(message([](auto &, auto &l) { l.threads = -1; }),
            "executor: threads: -1 is not between 1 and 1024");
}

TEST_F(ExecutorTest, StagesAreCheckedForWhatTheyHave) {
  auto message = [&](TinyPart part, auto change) {
    CpuProgram program = tiny.program(part);
    CpuExecutorOptions limits;
    limits.pages = 4;
    change(program);
    return CpuExecutor::create(std::move(program), limits).status().message();
  };
  EXPECT_EQ(
      message(TinyPart::FirstStage, [](CpuProgram &p) { p.hiddenSize = 0; }),
      "executor: hidden size: 0 is not between 1 and 2147483647");
  EXPECT_EQ(message(TinyPart::Whole, [](CpuProgram &p) { p.hiddenSize = 0; }),
            "");
  EXPECT_EQ(message(TinyPart::Whole, [](CpuProgram &p) { p.vocabSize = 0; }),
            "executor: vocabulary: 0 is not between 1 and 2147483647");
  EXPECT_EQ(message(TinyPart::Whole, [](CpuProgram &p) { p.outputFloats = 0; }),
            "executor: output floats: 0 is not between 1 and 1099511627776");
}

TEST_F(ExecutorTest, LimitsOfZeroAreFilledIn) {
  CpuExecutorOptions limits;
  limits.pages = 4;
  auto executor = CpuExecutor::create(tiny.program(), limits);
  ASSERT_TRUE(executor) << executor.status().message();
  EXPECT_EQ((*executor)->limits().contextLength, 100);
  EXPECT_GE((*executor)->threads(), 1);
  EXPECT_EQ((*executor)->vocabSize(), 50);
  EXPECT_EQ((*executor)->cacheBytes(), 2u * 4 * 32 * 2 * 2 * 16 * 4);
  EXPECT_GT((*executor)->arenaBytes(), 0u);
}

TEST_F(ExecutorTest, MemoryThatIsNotThereIsRefusedAtTheStart) {
  CpuExecutorOptions limits;
  limits.pages = 1 << 28; // 8 TB
  EXPECT_TRUE(CpuExecutor::create(tiny.program(), limits));
  limits.resident = true;
  std::string why =
      CpuExecutor::create(tiny.program(), limits).status().message();
  EXPECT_TRUE(why.starts_with("memory: the cache and a step take ")) << why;
  limits.pages = 4;
  EXPECT_TRUE(CpuExecutor::create(tiny.program(), limits));
}

TEST_F(ExecutorTest, ExecutorsMayShareAPool) {
  auto pool = std::make_shared<ThreadPool>(2);
  CpuExecutorOptions limits;
  limits.pages = 4;
  limits.threads = 7;
  auto first = CpuExecutor::create(tiny.program(), limits, pool);
  auto second = CpuExecutor::create(tiny.program(), limits, pool);
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->threads(), pool->threads());
  EXPECT_EQ((*first)->limits().threads, pool->threads());
  CachePages pages = CachePages::create({4, 1, 100}).take();
  StepBatch batch(1, 1);
  ASSERT_TRUE(batch.add(*pages.open(), 0, 7, true).ok());
  ASSERT_TRUE(pages.grow(0, 1).ok());
  ASSERT_TRUE((*first)->execute({&batch, &pages}).ok());
  ASSERT_TRUE((*second)->execute({&batch, &pages}).ok());
  std::span<const float> a = (*first)->logits(0), b = (*second)->logits(0);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

} // namespace
