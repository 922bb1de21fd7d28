//===- ExecutorTest.cpp - steps are checked and change no bit -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Executor.h"
#include "runtime/core/Sequence.h"
#include "runtime/device/cpu/test/TinyProgram.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <random>

using namespace sluice;
using namespace sluice::cpu;

// A sanitizer has an operator new of its own.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
/// Counts allocations, to see that steps make none.
static std::atomic<int64_t> allocations{0};

void *operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *memory = std::malloc(bytes))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

using Logits = std::vector<float>;

std::unique_ptr<Executor> make(const TinyProgram &tiny,
                               const ExecutorLimits &limits) {
  Expected<std::unique_ptr<Executor>> made =
      Executor::create(tiny.program(), limits);
  EXPECT_TRUE(made) << made.status().message();
  return made ? made.take() : nullptr;
}

std::vector<int32_t> randomTokens(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(random() % TinyProgram::vocabSize);
  return tokens;
}

/// Logits of the last position of `tokens`, computed in steps of `chunk` rows,
/// each with rows of `strangers` other sequences before and behind.
Logits lastLogits(Executor &executor, const std::vector<int32_t> &tokens,
                  int64_t chunk, int64_t strangers) {
  std::mt19937 random(static_cast<unsigned>(strangers));
  std::vector<SequenceId> open;
  std::vector<Sequence> others;
  for (int64_t i = 0; i < strangers; ++i) {
    open.push_back(*executor.openSequence());
    others.emplace_back(open.back(), TinyProgram::contextLength);
    EXPECT_TRUE(others.back().append(randomTokens(90, random())).ok());
  }
  open.push_back(*executor.openSequence());
  Sequence own(open.back(), TinyProgram::contextLength);
  EXPECT_TRUE(own.append(tokens).ok());

  Logits result;
  StepBatch batch(executor.limits().rows, executor.limits().outputs);
  while (own.pending() > 0) {
    batch.clear();
    std::vector<int64_t> rows;
    int64_t ownOutput = 0, ownRows = 0;
    size_t place = strangers ? random() % (others.size() + 1) : 0;
    for (size_t i = 0; i <= others.size(); ++i) {
      if (i == place) {
        ownOutput = batch.outputs();
        ownRows = own.schedule(batch, chunk, LogitsOf::Last);
      }
      if (i < others.size())
        rows.push_back(
            others[i].schedule(batch, 1 + random() % 3, LogitsOf::All));
    }
    Status status = executor.execute(batch);
    EXPECT_TRUE(status.ok()) << status.message();
    own.commit(ownRows);
    for (size_t i = 0; i < others.size(); ++i)
      others[i].commit(rows[i]);
    if (own.pending() == 0) {
      std::span<const float> logits = executor.logits(ownOutput);
      result.assign(logits.begin(), logits.end());
    }
  }
  for (SequenceId id : open)
    executor.closeSequence(id);
  return result;
}

class ExecutorIsaTest : public testing::TestWithParam<Isa> {
protected:
  void SetUp() override {
    if (!requireIsa(isaName(GetParam())).ok())
      GTEST_SKIP() << "this CPU lacks " << isaName(GetParam());
  }
};

TEST_P(ExecutorIsaTest, CompanyChunksAndThreadsChangeNoBit) {
  TinyProgram tiny(GetParam());
  std::vector<int32_t> tokens = randomTokens(75, 1);
  ExecutorLimits limits;
  limits.rows = 160;
  limits.outputs = 160;
  limits.sequences = 18;
  Logits alone;
  for (int64_t threads : {1, 2, 3}) {
    limits.threads = threads;
    auto executor = make(tiny, limits);
    if (alone.empty()) {
      alone = lastLogits(*executor, tokens, 1, 0);
      ASSERT_TRUE(std::all_of(alone.begin(), alone.end(),
                              [](float x) { return std::isfinite(x); }));
    }
    for (int64_t chunk : {1, 7, 64})
      for (int64_t strangers : {0, 1, 4, 17})
        ASSERT_EQ(lastLogits(*executor, tokens, chunk, strangers), alone)
            << threads << " threads, chunks of " << chunk << ", " << strangers
            << " strangers";
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ExecutorIsaTest,
                         testing::Values(Isa::Avx2, Isa::Avx512,
                                         Isa::Avx512Vnni),
                         [](const auto &info) {
                           return std::string(isaName(info.param));
                         });

class ExecutorTest : public testing::Test {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
  }

  /// The message of a step of one row.
  std::string stepMessage(Executor &executor, SequenceId sequence,
                          int64_t position, int32_t token) {
    StepBatch batch(1, 1);
    EXPECT_TRUE(batch.add(sequence, position, token, true).ok());
    return executor.execute(batch).message();
  }

  TinyProgram tiny{Isa::Avx2};
};

TEST_F(ExecutorTest, TruncationForgetsAndNothingElse) {
  ExecutorLimits limits;
  limits.rows = 80;
  auto executor = make(tiny, limits);
  std::vector<int32_t> tokens = randomTokens(70, 2);
  std::vector<int32_t> wrong = randomTokens(70, 3);
  Logits expected = lastLogits(*executor, tokens, 80, 0);

  SequenceId id = *executor->openSequence();
  StepBatch batch(80, 1);
  for (int64_t t = 0; t < 70; ++t)
    ASSERT_TRUE(batch.add(id, t, t < 20 ? tokens[t] : wrong[t], false).ok());
  ASSERT_TRUE(executor->execute(batch).ok());
  executor->truncateSequence(id, 20);
  EXPECT_EQ(executor->sequenceLength(id), 20);
  batch.clear();
  for (int64_t t = 20; t < 70; ++t)
    ASSERT_TRUE(batch.add(id, t, tokens[t], t == 69).ok());
  ASSERT_TRUE(executor->execute(batch).ok());
  std::span<const float> logits = executor->logits(0);
  EXPECT_EQ(Logits(logits.begin(), logits.end()), expected);
}

TEST_F(ExecutorTest, StepsAreCheckedBeforeTheyStart) {
  ExecutorLimits limits;
  limits.rows = 2;
  limits.sequences = 2;
  limits.contextLength = 40;
  limits.cacheTokens = 64;
  auto executor = make(tiny, limits);
  SequenceId id = *executor->openSequence();
  EXPECT_EQ(executor->execute(StepBatch(1, 1)).message(), "step: no rows");
  EXPECT_EQ(stepMessage(*executor, id, 0, 50),
            "step: token 50 at position 0 is not in the vocabulary of 50");
  EXPECT_EQ(stepMessage(*executor, id, 40, 0),
            "step: position 40 is beyond the context of 40");
  EXPECT_EQ(stepMessage(*executor, id, 1, 0),
            "step: sequence 0: position 1 does not continue its 0 tokens");
  EXPECT_EQ(stepMessage(*executor, 1, 0, 0), "step: sequence 1 is not open");
  EXPECT_EQ(stepMessage(*executor, 99, 0, 0), "step: sequence 99 is not open");
  StepBatch large(3, 3);
  for (int64_t t = 0; t < 3; ++t)
    ASSERT_TRUE(large.add(id, t, 0, false).ok());
  EXPECT_EQ(executor->execute(large).message(),
            "step: 3 rows is more than the limit of 2");
  large.clear();
  for (int64_t t = 0; t < 2; ++t)
    ASSERT_TRUE(large.add(id, t, 0, true).ok());
  EXPECT_EQ(executor->execute(large).message(),
            "step: 2 rows ask for logits, more than the limit of 1");
  EXPECT_EQ(executor->sequenceLength(id), 0);
  EXPECT_EQ(stepMessage(*executor, id, 0, 0), "");
  EXPECT_EQ(executor->sequenceLength(id), 1);
}

TEST_F(ExecutorTest, AFullCacheRefusesTheWholeStep) {
  ExecutorLimits limits;
  limits.rows = 40;
  limits.sequences = 2;
  limits.cacheTokens = 64;
  auto executor = make(tiny, limits);
  SequenceId a = *executor->openSequence();
  SequenceId b = *executor->openSequence();
  EXPECT_FALSE(executor->openSequence());
  StepBatch batch(40, 1);
  ASSERT_TRUE(batch.add(a, 0, 1, false).ok());
  for (int64_t t = 0; t < 33; ++t)
    ASSERT_TRUE(batch.add(b, t, 1, false).ok());
  EXPECT_EQ(executor->execute(batch).message(),
            "cache: sequence 1 needs 2 more pages of 32 tokens and 1 are free");
  EXPECT_EQ(executor->sequenceLength(a), 0);
  EXPECT_EQ(executor->sequenceLength(b), 0);
  executor->closeSequence(a);
  EXPECT_EQ(stepMessage(*executor, b, 0, 1), "");
}

#if COUNTS_ALLOCATIONS
TEST_F(ExecutorTest, StepsAllocateNothing) {
  ExecutorLimits limits;
  limits.rows = 32;
  limits.threads = 2;
  auto executor = make(tiny, limits);
  SequenceId id = *executor->openSequence();
  std::vector<int32_t> tokens = randomTokens(90, 4);
  StepBatch batch(32, 1);
  int64_t before = allocations.load();
  bool ok = true;
  for (int64_t t = 0; t < 90;) {
    batch.clear();
    for (int64_t row = 0; row < 30; ++row, ++t)
      ok &= batch.add(id, t, tokens[t], row == 29).ok();
    ok &= executor->execute(batch).ok();
  }
  int64_t after = allocations.load();
  EXPECT_TRUE(ok);
  EXPECT_EQ(after, before);
}
#endif

TEST_F(ExecutorTest, ProgramsAndLimitsAreChecked) {
  auto message = [&](auto change) {
    Program program = tiny.program();
    ExecutorLimits limits;
    change(program, limits);
    return Executor::create(std::move(program), limits).status().message();
  };
  EXPECT_EQ(message([](auto &p, auto &) { p.step = nullptr; }),
            "executor: the program has no step function");
  EXPECT_EQ(message([](auto &p, auto &) { p.rowFloats = -1; }),
            "executor: row floats: -1 is not between 1 and 1099511627776");
  EXPECT_EQ(message([](auto &p, auto &) { p.outputFloats = 60; }),
            "executor: logits end at 114 of 60 floats of an output");
  EXPECT_EQ(message([](auto &p, auto &) { p.weights[3] = PackedWeight(); }),
            "executor: weight 3 has no data");
  EXPECT_EQ(message([](auto &p, auto &) {
              p.weights[0] = RowTable{Format::Q8_0, nullptr, 1, 33};
            }),
            "executor: weight 0 is not a table of q8_0 rows");
  EXPECT_EQ(message([](auto &p, auto &) {
              std::get<RowTable>(p.weights[0]).rows = 9;
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

TEST_F(ExecutorTest, LimitsOfZeroAreFilledIn) {
  auto executor = make(tiny, ExecutorLimits());
  EXPECT_EQ(executor->limits().contextLength, 100);
  EXPECT_EQ(executor->limits().cacheTokens, 128);
  EXPECT_GE(executor->threads(), 1);
  EXPECT_EQ(executor->vocabSize(), 50);
  EXPECT_EQ(executor->cacheBytes(), 2u * 4 * 32 * 2 * 2 * 16 * 4);
  EXPECT_GT(executor->arenaBytes(), 0u);
}

} // namespace
