//===- InlinePipelineTest.cpp - head and stage in the caller's thread -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/InlinePipeline.h"

#include "runtime/core/LogProbabilities.h"
#include "runtime/pipeline/TokenQueue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

constexpr int64_t vocabSize = 16;

/// Returns the logits that the model gives after a token.
std::vector<float> logitsAfter(int32_t token, int64_t position) {
  std::vector<float> logits(vocabSize);
  for (int64_t i = 0; i < vocabSize; ++i)
    logits[size_t(i)] = float((token * 7 + position * 3 + i * 5) % 11);
  return logits;
}

int32_t greatestAfter(int32_t token, int64_t position) {
  std::vector<float> logits = logitsAfter(token, position);
  return int32_t(std::ranges::max_element(logits) - logits.begin());
}

/// A model whose logits follow from the last token and its position.
class ShortMemory final : public StepCompute {
public:
  explicit ShortMemory(std::vector<int64_t> &rows) : rows(rows) {}
  bool receives() const override { return false; }
  Status execute(const device::StepInput &input) override {
    if (int64_t(rows.size()) == failsAt)
      return failure("no power");
    const StepBatch &batch = *input.batch;
    rows.push_back(batch.rows());
    outputs.clear();
    for (int32_t row : batch.outputRows())
      outputs.push_back(logitsAfter(batch.tokens()[size_t(row)],
                                    batch.positions()[size_t(row)]));
    return {};
  }
  std::span<const float> logits(int64_t output) const override {
    return outputs.at(size_t(output));
  }

  int64_t failsAt = -1; ///< the step

private:
  std::vector<int64_t> &rows; ///< of each step so far
  std::vector<std::vector<float>> outputs;
};

class InlinePipelineTest : public testing::Test {
protected:
  InlinePipelineTest() {
    setup.limits.contextLength = 64;
    setup.limits.vocabSize = vocabSize;
    setup.limits.prefillRows = 4;
    setup.limits.speculation = {.mode = SpeculationMode::Off, .nodes = 1};
  }

  void make() {
    auto compute = std::make_unique<ShortMemory>(rows);
    compute->failsAt = failsAt;
    setup.compute = std::move(compute);
    Expected<std::unique_ptr<InlinePipeline>> made =
        InlinePipeline::create(std::move(setup));
    ASSERT_TRUE(made) << made.status().message();
    pipeline = made.take();
  }

  std::shared_ptr<TokenQueue> submit(std::vector<int32_t> prompt,
                                     int64_t maxTokens = -1,
                                     TenantNumber tenant = 0) {
    RequestSpec spec;
    spec.prompt = std::move(prompt);
    spec.maxTokens = maxTokens;
    spec.tenant = tenant;
    return submit(std::move(spec));
  }
  std::shared_ptr<TokenQueue> submit(RequestSpec spec) {
    auto queue = std::make_shared<TokenQueue>();
    pipeline->head().submit({.spec = std::move(spec)}, queue);
    return queue;
  }

  /// Takes turns until the request has a next event.
  RequestEvent next(TokenQueue &queue) {
    for (int turn = 0; turn < 100; ++turn) {
      if (std::optional<RequestEvent> event = queue.poll())
        return std::move(*event);
      pipeline->turn();
    }
    ADD_FAILURE() << "no event comes";
    return RequestEnd{.isBroken = true};
  }

  std::vector<int32_t> tokens(TokenQueue &queue) {
    std::vector<int32_t> found;
    RequestEvent event = next(queue);
    for (; std::holds_alternative<TokenEvent>(event); event = next(queue))
      found.push_back(std::get<TokenEvent>(event).token);
    end = std::get<RequestEnd>(std::move(event));
    return found;
  }

  static std::vector<int32_t> expected(std::vector<int32_t> text,
                                       int64_t count) {
    const size_t prompt = text.size();
    for (int64_t i = 0; i < count; ++i)
      text.push_back(greatestAfter(text.back(), std::ssize(text) - 1));
    return {text.begin() + ptrdiff_t(prompt), text.end()};
  }

  int64_t failsAt = -1;
  InlineSetup setup;
  std::vector<int64_t> rows; ///< of each step
  std::unique_ptr<InlinePipeline> pipeline;
  RequestEnd end; ///< of the last request whose tokens were read
};

const std::vector<int32_t> longPrompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

TEST_F(InlinePipelineTest, ContinuesAPromptInChunks) {
  make();
  auto queue = submit(longPrompt, 5);
  EXPECT_EQ(tokens(*queue), expected(longPrompt, 5));
  EXPECT_TRUE(end.hasFinished());
  EXPECT_EQ(end.reason, FinishReason::Length);
  EXPECT_THAT(rows, testing::ElementsAre(4, 4, 2, 1, 1, 1, 1));
  EXPECT_TRUE(pipeline->promptLogits(0).empty());
}

TEST_F(InlinePipelineTest, RequestsShareSteps) {
  setup.limits.requests = 3;
  make();
  std::vector<std::shared_ptr<TokenQueue>> queues;
  for (int32_t i = 1; i <= 3; ++i)
    queues.push_back(submit(std::vector<int32_t>{i}, 6));
  for (int32_t i = 1; i <= 3; ++i)
    EXPECT_EQ(tokens(*queues[size_t(i) - 1]), expected({i}, 6));
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t{0}), 3 * 6);
  EXPECT_EQ(std::ranges::count(rows, 3), 5);
}

TEST_F(InlinePipelineTest, KeepsTheLogitsAfterFirstPrompts) {
  setup.limits.requests = 2;
  setup.keepsLogits = true;
  make();
  auto other = submit(std::vector<int32_t>{3}, 2, 1);
  auto wanted = submit(longPrompt, 3, 7);
  EXPECT_EQ(tokens(*other), expected({3}, 2));
  EXPECT_EQ(tokens(*wanted), expected(longPrompt, 3));
  EXPECT_THAT(pipeline->promptLogits(7),
              testing::ElementsAreArray(logitsAfter(10, 9)));
  EXPECT_THAT(pipeline->promptLogits(1),
              testing::ElementsAreArray(logitsAfter(3, 0)));
  auto later = submit(std::vector<int32_t>{5}, 1, 7);
  EXPECT_EQ(tokens(*later), expected({5}, 1));
  EXPECT_THAT(pipeline->promptLogits(7),
              testing::ElementsAreArray(logitsAfter(10, 9)));
}

TEST_F(InlinePipelineTest, ScoresAsManyRowsAsAStepHas) {
  setup.limits.scoredRows = 4;
  make();
  RequestSpec spec;
  spec.prompt = longPrompt;
  spec.maxTokens = 0;
  spec.logProbabilities = 0;
  spec.scoresPrompt = true;
  auto queue = submit(std::move(spec));
  EXPECT_THAT(tokens(*queue), testing::ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(end.reason, FinishReason::Length);
  EXPECT_THAT(rows, testing::ElementsAre(4, 4, 2));
}

/// The draft guesses right after most tokens, and wrong after the others.
class Forgetful final : public StepCompute {
public:
  bool receives() const override { return false; }
  Status execute(const device::StepInput &input) override {
    const StepBatch &batch = *input.batch;
    outputs.clear();
    for (int32_t row : batch.outputRows()) {
      const int32_t token = batch.tokens()[size_t(row)];
      outputs.push_back(logitsAfter(token % 3 == 0 ? token + 1 : token,
                                    batch.positions()[size_t(row)]));
    }
    return {};
  }
  std::span<const float> logits(int64_t output) const override {
    return outputs.at(size_t(output));
  }

private:
  std::vector<std::vector<float>> outputs;
};

TEST_F(InlinePipelineTest, GuessesChangeNoToken) {
  setup.limits.requests = 2;
  setup.limits.speculation = {
      .mode = SpeculationMode::Sync, .depth = 4, .width = 1, .nodes = 8};
  setup.draft = {.compute = std::make_unique<Forgetful>(),
                 .contextLength = 64,
                 .vocabSize = vocabSize};
  make();
  auto one = submit(longPrompt, 40);
  auto other = submit(std::vector<int32_t>{3}, 40);
  EXPECT_EQ(tokens(*one), expected(longPrompt, 40));
  EXPECT_EQ(tokens(*other), expected({3}, 40));
  EXPECT_GT(end.speculation.accepted, 0);
  EXPECT_GT(end.speculation.cancelled, 0);
  EXPECT_LT(rows.size(), 40u);
}

TEST_F(InlinePipelineTest, ARequestCanBeEnded) {
  make();
  auto queue = submit(std::vector<int32_t>{1});
  EXPECT_TRUE(std::holds_alternative<TokenEvent>(next(*queue)));
  pipeline->head().finish(*queue, FinishReason::Cancelled);
  (void)tokens(*queue);
  EXPECT_EQ(end.reason, FinishReason::Cancelled);
  // Its slot is free again.
  auto later = submit(std::vector<int32_t>{2}, 2);
  EXPECT_EQ(tokens(*later), expected({2}, 2));
}

TEST_F(InlinePipelineTest, AStepThatFailsEndsAllRequests) {
  setup.limits.requests = 2;
  failsAt = 2;
  make();
  auto one = submit(std::vector<int32_t>{1});
  auto other = submit(std::vector<int32_t>{2});
  for (TokenQueue *queue : {one.get(), other.get()}) {
    EXPECT_GE(tokens(*queue).size(), 1u);
    EXPECT_TRUE(end.isBroken);
    EXPECT_EQ(end.failure.message(), "no power");
  }
  auto late = submit(std::vector<int32_t>{3});
  EXPECT_TRUE(tokens(*late).empty());
  EXPECT_TRUE(end.isBroken);
  EXPECT_EQ(end.failure.message(), "no power");
}

TEST_F(InlinePipelineTest, RefusesWhatCanNeverRun) {
  make();
  auto queue = submit(std::vector<int32_t>(100, 1));
  EXPECT_TRUE(tokens(*queue).empty());
  EXPECT_EQ(end.refusal, Refusal::Invalid);
}

} // namespace
