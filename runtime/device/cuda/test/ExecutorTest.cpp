//===- ExecutorTest.cpp - whole steps on an emulated GPU ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiny model's steps must agree with the CPU's within the rounding of the
// formats, and with each other bit for bit, whatever rows share a step,
// whatever graph runs it, and whichever rows die meanwhile.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/core/Sampler.h"
#include "runtime/device/cpu/test/TinyModel.h"
#include "runtime/device/cuda/test/GraphModel.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using cpu::randomTokens;
using cpu::TinyPart;
using cpu::TinyProgram;

namespace {

const TinyProgram &tiny() {
  static const TinyProgram program(cpu::Isa::Avx2);
  return program;
}

RowLogits alone(const std::vector<int32_t> &tokens, int64_t chunk = 32) {
  GraphModel model(tiny(), {TinyPart::Whole}, {});
  return graphLogitsAlone(model, tokens, chunk);
}

/// Returns the largest difference of two numbers, relative to the largest
/// number.
double largestDifference(const RowLogits &a, const RowLogits &b) {
  double max = a.size() == b.size() ? 0 : 1e9, size = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    max = std::max(max, std::abs(double(a[i]) - double(b[i])));
    size = std::max(size, std::abs(double(b[i])));
  }
  return max / size;
}

} // namespace

TEST(CudaExecutorTest, AgreesWithTheCpu) {
  cpu::TinyModel reference(tiny(), {TinyPart::Whole}, {});
  GraphModel model(tiny(), {TinyPart::Whole}, {});
  for (int64_t length : {1, 5, 32, 70}) {
    std::vector<int32_t> tokens = randomTokens(length, unsigned(length));
    RowLogits expected = cpu::logitsAlone(reference, tokens);
    // 4-bit weights are multiplied with operands of 8 bits on the CPU, and of
    // f16 here; bf16 weights with f32 there, and with bf16 here. Each rounds
    // some 0.5 % of a row's largest number, eight times.
    EXPECT_LT(largestDifference(graphLogitsAlone(model, tokens, 32), expected),
              0.03)
        << length;
  }
}

/// The output head and the table may share one copy.
TEST(CudaExecutorTest, ATiedTableIsTheOutputHead) {
  emulator::EmulatedOptions options;
  options.program = tinyKernels();
  CudaExecutorOptions limits;
  limits.rows = 4;
  limits.pages = 4;
  auto logitsOf = [&](int64_t tied) {
    CudaProgram program = tinyGraph(tiny());
    auto &table = std::get<TableWeight>(program.weights[0]);
    std::get<LinearWeight>(program.weights[3]).matrix = table.matrix;
    table.tied = tied;
    std::unique_ptr<CudaExecutor> executor =
        CudaExecutor::create((*emulator::openEmulated(options))->open(0).take(),
                             std::move(program), limits, {})
            .take();
    CachePages pages =
        CachePages::create({4, 1, TinyProgram::contextLength}).take();
    SequenceId id = *pages.open();
    EXPECT_TRUE(pages.grow(id, 3).ok());
    StepBatch batch(4, 1);
    for (int32_t row : {0, 1, 2})
      EXPECT_TRUE(batch.add(id, row, 7 * row + 1, row == 2).ok());
    EXPECT_TRUE(executor->execute({&batch, &pages}).ok());
    std::span<const float> values = executor->logits(0);
    return RowLogits(values.begin(), values.end());
  };
  EXPECT_EQ(logitsOf(3), logitsOf(-1));
}

TEST(CudaExecutorTest, EveryGraphAndChunkGivesTheSameBits) {
  std::vector<int32_t> tokens = randomTokens(40, 3);
  const RowLogits whole = alone(tokens, 32);
  for (int64_t chunk : {1, 2, 3, 8, 20})
    EXPECT_EQ(alone(tokens, chunk), whole) << chunk;
}

TEST(CudaExecutorTest, ARowDoesNotSeeWhoSharesItsStep) {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<RowLogits> expected;
  for (unsigned i = 0; i < 5; ++i) {
    prompts.push_back(randomTokens(3 + i, i));
    expected.push_back(alone(prompts.back()));
  }
  emulator::EmulatedOptions options;
  options.order = emulator::Order::Shuffled;
  options.resident = 3;
  GraphModel model(tiny(), {TinyPart::Whole}, {}, options);
  StepBatch batch(32, 8);
  for (const std::vector<int32_t> &prompt : prompts) {
    SequenceId id = *model.pages().open();
    for (size_t t = 0; t < prompt.size(); ++t)
      ASSERT_TRUE(
          batch.add(id, int64_t(t), prompt[t], t + 1 == prompt.size()).ok());
  }
  model.place(batch);
  ASSERT_TRUE(model.execute(batch).ok());
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(model.logits(int64_t(i)), expected[i]) << i;
}

/// One step has more rows than a sequence may have here, so they are of four
/// sequences.
TEST(CudaExecutorTest, TheLibrarysProductsAreNearTheKernels) {
  std::vector<RowLogits> results[2];
  for (bool fastMathBatch : {false, true}) {
    GraphLimits limits;
    limits.rows = 280;
    limits.fastMathBatch = fastMathBatch;
    GraphModel model(tiny(), {TinyPart::Whole}, limits);
    StepBatch batch(280, 8);
    for (unsigned i = 0; i < 4; ++i) {
      SequenceId id = *model.pages().open();
      std::vector<int32_t> tokens = randomTokens(70, i);
      for (size_t t = 0; t < tokens.size(); ++t)
        ASSERT_TRUE(batch.add(id, int64_t(t), tokens[t], t == 69).ok());
    }
    model.place(batch);
    ASSERT_TRUE(model.execute(batch).ok());
    for (int64_t i = 0; i < 4; ++i)
      results[fastMathBatch].push_back(model.logits(i));
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NE(results[1][i], results[0][i]) << "the library was not used";
    EXPECT_LT(largestDifference(results[1][i], results[0][i]), 0.003);
  }
}

TEST(CudaExecutorTest, StagesGiveWhatTheWholeDoes) {
  std::vector<int32_t> tokens = randomTokens(20, 8);
  const RowLogits whole = alone(tokens);
  GraphModel chain(tiny(), {TinyPart::FirstStage, TinyPart::SecondStage}, {});
  EXPECT_EQ(graphLogitsAlone(chain, tokens, 20), whole);
  EXPECT_EQ(graphLogitsAlone(chain, tokens, 7), whole);
  GraphLimits narrow;
  narrow.wire = ActivationFormat::BF16;
  GraphModel rounded(tiny(), {TinyPart::FirstStage, TinyPart::SecondStage},
                     narrow);
  EXPECT_LT(largestDifference(graphLogitsAlone(rounded, tokens, 20), whole),
            0.05);
}

TEST(CudaExecutorTest, CachesOfEachKind) {
  std::vector<int32_t> tokens = randomTokens(33, 9);
  const RowLogits halves = alone(tokens);
  for (auto [kind, tolerance] :
       {std::pair{CacheKind::BF16, 0.01}, std::pair{CacheKind::E4M3, 0.1}}) {
    GraphLimits limits;
    limits.cacheKind = kind;
    GraphModel model(tiny(), {TinyPart::Whole}, limits);
    RowLogits logits = graphLogitsAlone(model, tokens, 32);
    EXPECT_LT(largestDifference(logits, halves), tolerance);
    EXPECT_NE(logits, halves);
  }
}

TEST(CudaExecutorTest, ForksShareAndCopyPages) {
  GraphModel model(tiny(), {TinyPart::FirstStage, TinyPart::SecondStage}, {});
  std::vector<int32_t> tokens = randomTokens(45, 12);
  SequenceId parent = *model.pages().open();
  StepBatch batch(32, 1, 31);
  auto run = [&](SequenceId id, int64_t first, int64_t last) {
    batch.clear();
    for (int64_t t = first; t < last; ++t)
      ASSERT_TRUE(batch.add(id, t, tokens[size_t(t)], t + 1 == last).ok());
    model.place(batch);
    ASSERT_TRUE(model.execute(batch).ok());
  };
  run(parent, 0, 30);
  // Forks inside a page, after a row of the same step that copies the page.
  batch.clear();
  ASSERT_TRUE(batch.add(parent, 30, tokens[30], false).ok());
  model.place(batch);
  CachePages::Fork fork = *model.pages().fork(parent, 31);
  ASSERT_TRUE(fork.copy.has_value());
  model.addCopy(*fork.copy);
  ASSERT_TRUE(batch.addMirror(0, fork.sequence).ok());
  ASSERT_TRUE(model.execute(batch).ok());
  run(fork.sequence, 31, 45);
  EXPECT_EQ(model.logits(0), alone(tokens));
}

TEST(CudaExecutorTest, ManyCopiesAreMadeInOrder) {
  GraphLimits limits;
  limits.sequences = 8;
  GraphModel model(tiny(), {TinyPart::Whole}, limits);
  std::vector<int32_t> tokens = randomTokens(8, 2);
  const RowLogits expected = alone(tokens);
  SequenceId id = *model.pages().open();
  StepBatch batch(32, 1);
  for (int64_t t = 0; t < 7; ++t)
    ASSERT_TRUE(batch.add(id, t, tokens[size_t(t)], false).ok());
  model.place(batch);
  ASSERT_TRUE(model.execute(batch).ok());
  // The page is copied from one page to the next, more often than one kernel
  // copies, and back.
  int32_t home = model.pages().pages(id)[0];
  int32_t at = home;
  for (int32_t i = 0; i < 1300; ++i) {
    int32_t next = i == 1299               ? home
                   : (at + 1) % 31 == home ? (at + 2) % 31
                                           : (at + 1) % 31;
    model.addCopy({at, next});
    at = next;
  }
  batch.clear();
  ASSERT_TRUE(batch.add(id, 7, tokens[7], true).ok());
  model.place(batch);
  ASSERT_TRUE(model.execute(batch).ok());
  EXPECT_EQ(model.logits(0), expected);
}

namespace {

/// Adds five sequences of three to seven tokens, each of which requests an
/// output.
void addPrompts(GraphModel &model, StepBatch &batch) {
  for (unsigned i = 0; i < 5; ++i) {
    std::vector<int32_t> prompt = randomTokens(3 + i, i);
    SequenceId id = *model.pages().open();
    for (size_t t = 0; t < prompt.size(); ++t)
      ASSERT_TRUE(
          batch.add(id, int64_t(t), prompt[t], t + 1 == prompt.size()).ok());
  }
  model.place(batch);
}

int32_t largestOf(const RowLogits &logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) -
                 logits.begin());
}

} // namespace

/// The size of the tables that are sent depends on the rows of the step, not on
/// its capacity.
TEST(CudaExecutorTest, TablesAreSentByWhatAStepHas) {
  std::vector<uint64_t> sent;
  emulator::EmulatedOptions options;
  options.onCopy = [&](emulator::CopyKind kind, uint64_t bytes) {
    if (kind == emulator::CopyKind::ToDevice)
      sent.push_back(bytes);
  };
  GraphLimits limits;
  limits.rows = 512;
  limits.sequences = 64;
  GraphModel model(tiny(), {TinyPart::Whole}, limits, options);
  SequenceId id = *model.pages().open();
  StepBatch batch(512, 8, 31);
  ASSERT_TRUE(batch.add(id, 0, 1, true).ok());
  model.place(batch);
  sent.clear();
  ASSERT_TRUE(model.execute(batch).ok());
  // Counts, ten arrays of 64 numbers, and a page.
  EXPECT_EQ(sent, (std::vector<uint64_t>{11 * 256 + 4}));

  // Copies and mirrors are sent separately.
  CachePages::Fork fork = *model.pages().fork(id, 1);
  batch.clear();
  ASSERT_TRUE(batch.add(id, 1, 2, true).ok());
  model.place(batch);
  ASSERT_TRUE(batch.addMirror(0, fork.sequence).ok());
  ASSERT_TRUE(model.pages().grow(fork.sequence, 2).ok());
  model.addCopy(*fork.copy);
  sent.clear();
  ASSERT_TRUE(model.execute(batch).ok());
  EXPECT_EQ(sent, (std::vector<uint64_t>{256 + 8, 11 * 256 + 8, 4, 4}));
}

TEST(CudaExecutorTest, TokensComeBackWhereLogitsAreNotWanted) {
  uint64_t bytes = 0;
  emulator::EmulatedOptions options;
  options.onCopy = [&](emulator::CopyKind kind, uint64_t copied) {
    if (kind == emulator::CopyKind::ToHost)
      bytes += copied;
  };
  GraphModel model(tiny(), {TinyPart::Whole}, {}, options);
  StepBatch batch(32, 8);
  addPrompts(model, batch);
  ASSERT_TRUE(model.execute(batch).ok());
  constexpr uint64_t each = TinyProgram::vocabSize * sizeof(float);
  EXPECT_EQ(bytes, 5 * each);
  std::vector<RowLogits> expected;
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(model.stage(0).token(i), std::nullopt);
    expected.push_back(model.logits(i));
  }
  for (std::vector<uint8_t> wants :
       {std::vector<uint8_t>{0, 0, 0, 0, 0}, {0, 1, 1, 0, 1}}) {
    model.requests.clear();
    for (uint8_t each : wants)
      model.requests.push_back(
          {.kind = each ? OutputRequest::Logits : OutputRequest::Greatest});
    bytes = 0;
    ASSERT_TRUE(model.execute(batch).ok());
    EXPECT_EQ(bytes, 5 * sizeof(int32_t) +
                         each * uint64_t(std::ranges::count(wants, 1)));
    for (int64_t i = 0; i < 5; ++i) {
      if (!wants[size_t(i)]) {
        EXPECT_EQ(model.stage(0).token(i), largestOf(expected[size_t(i)]));
        continue;
      }
      EXPECT_EQ(model.stage(0).token(i), std::nullopt);
      EXPECT_EQ(model.logits(i), expected[size_t(i)]);
    }
  }
  model.requests.resize(1);
  EXPECT_THAT(model.execute(batch).message(),
              testing::HasSubstr("of 5 outputs, it is said for 1"));
}

/// Drawn tokens and candidates are those that the host would compute from the
/// logits. If candidates may be incomplete, logits are fetched, too.
TEST(CudaExecutorTest, WhatIsDrawnOnTheDeviceIsTheHosts) {
  GraphModel model(tiny(), {TinyPart::Whole}, {});
  StepBatch batch(32, 8);
  addPrompts(model, batch);
  ASSERT_TRUE(model.execute(batch).ok());
  std::vector<RowLogits> logits;
  for (int64_t i = 0; i < 5; ++i)
    logits.push_back(model.logits(i));
  const SamplingParams params[] = {
      {.temperature = 1.5, .seed = 9},
      {.temperature = 0.7, .topK = 5, .topP = 0.9, .minP = 0.01, .seed = 7},
      {.temperature = 1, .minP = 0.3, .seed = 8},
      {},
      {.temperature = 1, .topP = 0.5}};
  Sampler sampler(TinyProgram::vocabSize);
  for (int64_t position = 0; position < 40; ++position) {
    model.requests.clear();
    for (const SamplingParams &each : params)
      model.requests.push_back(requestFor(each, position));
    ASSERT_TRUE(model.execute(batch).ok());
    for (size_t i = 0; i < std::size(params); ++i) {
      std::optional<int32_t> token = model.stage(0).token(int64_t(i));
      auto candidates = model.stage(0).candidates(int64_t(i));
      EXPECT_EQ(token.has_value(), i == 0 || i == 3);
      EXPECT_EQ(candidates.empty(), i != 1 && i != 2);
      if (!candidates.empty())
        token = sampler.sampleAmong(candidates, params[i], position);
      else if (!token)
        token = *sampler.sample(model.logits(int64_t(i)), params[i], {}, {},
                                position);
      EXPECT_EQ(*token,
                *sampler.sample(logits[i], params[i], {}, {}, position));
    }
  }
  // There are fewer candidates than min-p leaves, so they are not enough.
  model.requests[2].count = 1;
  model.requests[2].minScore = -100;
  ASSERT_TRUE(model.execute(batch).ok());
  EXPECT_TRUE(model.stage(0).candidates(2).empty());
  EXPECT_EQ(model.stage(0).token(2), std::nullopt);
  EXPECT_EQ(model.logits(2), logits[2]);
}

/// If the greatest logit is not a finite number, the host gets the logits and
/// reports the error.
TEST(CudaExecutorTest, ATokenThatIsNoneBringsItsLogits) {
  static const std::vector<SluiceEmulatedKernel> kernels = [] {
    std::span<const SluiceEmulatedKernel> all = tinyKernels();
    std::vector<SluiceEmulatedKernel> changed(all.begin(), all.end());
    for (SluiceEmulatedKernel &each : changed)
      if (std::string(each.name) == "tiny_argmax")
        each.run = [](const uint64_t *words) {
          sluice_emulated_wait();
          int32_t output = sluice_emulated_block();
          if (output < *reinterpret_cast<const int32_t *>(words[0]))
            reinterpret_cast<int32_t *>(words[1])[output] =
                output == 1 ? ~3 : 4;
        };
    return changed;
  }();
  emulator::EmulatedOptions options;
  options.program = kernels;
  GraphModel model(tiny(), {TinyPart::Whole}, {}, options);
  StepBatch batch(32, 8);
  addPrompts(model, batch);
  for (auto kind : {OutputRequest::Greatest, OutputRequest::Drawn,
                    OutputRequest::Candidates}) {
    model.requests.assign(5, {.kind = kind, .count = 3, .temperature = 1});
    ASSERT_TRUE(model.execute(batch).ok());
    EXPECT_EQ(model.stage(0).token(0).has_value(),
              kind != OutputRequest::Candidates);
    EXPECT_EQ(model.stage(0).candidates(0).empty(),
              kind != OutputRequest::Candidates);
    if (kind == OutputRequest::Greatest)
      EXPECT_EQ(model.stage(0).token(0), 4);
    EXPECT_EQ(model.stage(0).token(1), std::nullopt);
    EXPECT_TRUE(model.stage(0).candidates(1).empty());
    EXPECT_EQ(model.logits(1), alone(randomTokens(4, 1)));
  }
}

TEST(CudaExecutorTest, WhatTheHostGetsWrongIsRefusedBeforeAnythingRuns) {
  GraphModel model(tiny(), {TinyPart::Whole}, {});
  SequenceId id = *model.pages().open();
  StepBatch batch(64, 64);
  auto message = [&] { return model.execute(batch).message(); };
  EXPECT_THAT(message(), testing::HasSubstr("no rows"));
  ASSERT_TRUE(batch.add(id, 0, 50, true).ok());
  EXPECT_THAT(message(), testing::HasSubstr("token 50"));
  batch.clear();
  ASSERT_TRUE(batch.add(id, 0, 49, true).ok());
  EXPECT_THAT(message(), testing::HasSubstr("no page for position 0"));
  batch.clear();
  for (int64_t t = 0; t < 33; ++t)
    ASSERT_TRUE(batch.add(id, t, 1, false).ok());
  model.place(batch);
  EXPECT_THAT(message(), testing::HasSubstr("33 rows"));
  // The error has broken nothing.
  std::vector<int32_t> tokens = randomTokens(4, 1);
  EXPECT_EQ(graphLogitsAlone(model, tokens, 4), alone(tokens));
}

TEST(CudaExecutorTest, StepsAllocateNothing) {
  // In each step two rows die, and one becomes an orphan.
  StepBatch batch(32, 8);
  DeviceReaper reaper(batch);
  std::atomic<bool> armed{false};
  emulator::EmulatedOptions options;
  options.beforeKernel = [&](const std::string &name) {
    if (name == "sluice_operand_rows" && armed.exchange(false))
      reaper.kill({2, 3});
  };
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, {}, options);
  SequenceId id = *model.pages().open();
  for (int64_t t = 0; t < 12; ++t)
    ASSERT_TRUE(batch.add(id, t, 1, t == 0).ok());
  model.place(batch);
  device::StepInput input = {&batch, &model.pages()};
  input.checkpoints = &reaper;
  reaper.orphans = {4};
  const OutputRequest request = {.kind = OutputRequest::Candidates, .count = 3};
  input.requests = {&request, 1};
  int64_t before = 0;
  for (int step = 0; step < 2; ++step) {
    reaper.begin();
    armed = true;
    before = test::allocationsOfThread();
    ASSERT_TRUE(model.stage(0).execute(input).ok());
    EXPECT_EQ(batch.rows(), 12 - 3 * (step + 1));
  }
  EXPECT_EQ(reaper.count, 2);
  EXPECT_EQ(test::allocationsOfThread() - before, 0);
}
