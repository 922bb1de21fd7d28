//===- StageWorkerFixture.h - a stage and its thread in tests -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_TEST_STAGEWORKERFIXTURE_H
#define SLUICE_RUNTIME_PIPELINE_TEST_STAGEWORKERFIXTURE_H

#include "runtime/pipeline/StageWorker.h"

#include <gtest/gtest.h>

namespace sluice::pipeline::test {

/// Calls a function for each step instead of computing.
class StepHook final : public StepCompute {
public:
  StepHook(bool takesRows, std::function<void(const device::StepInput &)> hook)
      : takesRows(takesRows), hook(std::move(hook)) {}
  bool receives() const override { return takesRows; }
  Status execute(const device::StepInput &input) override {
    hook(input);
    return {};
  }
  std::span<const float> logits(int64_t output) const override {
    return outputs.at(size_t(output));
  }
  std::optional<int32_t> token(int64_t output) const override { return found; }
  std::span<const TokenLogit> candidates(int64_t output) const override {
    return chosen;
  }
  std::optional<device::StepWaits> waits() const override {
    return device::StepWaits{.barriers = 7};
  }

  /// The outputs of every step, for the rows that want one.
  std::vector<std::vector<float>> outputs;
  std::optional<int32_t> found;   ///< instead: the token of every output
  std::vector<TokenLogit> chosen; ///< instead: the candidates of every output

private:
  bool takesRows;
  std::function<void(const device::StepInput &)> hook;
};

/// Keeps the frames that are sent.
class KeptFrames final : public StepOutput {
public:
  explicit KeptFrames(std::vector<StepFrame> &frames) : frames(frames) {}
  Status collect(Stage &, const StepCompute &) override { return {}; }
  Status send(StepFrame &frame) override {
    frames.push_back(frame);
    return {};
  }

private:
  std::vector<StepFrame> &frames;
};

class StageWorkerTest : public testing::Test {
protected:
  StageWorkerTest() {
    config.name = "stage 0";
    config.limits.rows = config.limits.outputs = 16;
    config.limits.branches = 16;
    config.limits.nodes = 64;
    config.limits.contextLength = 256;
    config.limits.frames = 4;
    config.pages = 64;
  }

  void make(std::function<void(const device::StepInput &)> hook,
            std::unique_ptr<StepPacer> pacer = nullptr) {
    make(std::make_unique<StepHook>(receives, std::move(hook)),
         std::make_unique<KeptFrames>(sent), std::move(pacer));
  }
  void make(std::unique_ptr<StepHook> compute,
            std::unique_ptr<StepOutput> output,
            std::unique_ptr<StepPacer> pacer = nullptr) {
    Expected<std::unique_ptr<StageWorker>> made = StageWorker::create(
        config, board, std::move(compute), std::move(output), std::move(pacer),
        trace,
        {.failed = [this](Status reason) { failed = reason; },
         .roomChanged = nullptr,
         .ended = [this] { ended = true; },
         .released = nullptr});
    ASSERT_TRUE(made) << made.status().message();
    worker = made.take();
  }
  /// Makes the worker of a last stage, whose tokens are "a", "b" and one that
  /// ends a text. `results` gets its answers.
  void makeLast(std::unique_ptr<StepHook> compute,
                std::vector<ResultRow> &results) {
    auto makeTrie = [] {
      return std::make_shared<const grammar::TokenTrie>(
          grammar::TokenTrie::create({{"a", "b", ""}}, {{2}}).take());
    };
    auto keep = [&results](const ResultFrame &frame) {
      results.insert(results.end(), frame.results.begin(), frame.results.end());
      return Status();
    };
    make(std::move(compute),
         std::make_unique<ResultOutput>("stage", 3, 16, 4, makeTrie, keep));
  }

  /// Returns a frame that opens the request with one certain row and a chain of
  /// `guesses`.
  static StepFrame firstFrame(int guesses) {
    StepFrame frame;
    OpenRequest open;
    open.promptTokens = 1;
    open.knownTokens = 1;
    frame.opens.push_back(open);
    frame.rows.push_back({.certain = true});
    for (int32_t i = 1; i <= guesses; ++i)
      frame.rows.push_back({.node = i, .parent = i - 1, .position = i});
    return frame;
  }
  void arriveFirst(int guesses) {
    worker->arrive({firstFrame(guesses), {}, {}});
  }

  /// Runs the worker until everything that has arrived is computed.
  void run() {
    worker->arrive({{}, {}, {}, /*last=*/true});
    worker->run();
    EXPECT_TRUE(failed.ok()) << failed.message();
    EXPECT_TRUE(ended);
  }

  StageWorkerConfig config;
  bool receives = false; ///< whether rows come in, and not tokens
  RoleTrace trace;
  EpochBoard board{1};
  std::vector<StepFrame> sent;
  std::unique_ptr<StageWorker> worker;
  Status failed;
  bool ended = false;
};

} // namespace sluice::pipeline::test

#endif // SLUICE_RUNTIME_PIPELINE_TEST_STAGEWORKERFIXTURE_H
