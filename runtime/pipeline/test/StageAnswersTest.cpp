//===- StageAnswersTest.cpp - the answers of a last stage -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/test/StageWorkerFixture.h"

#include <cmath>

using namespace sluice;
using namespace sluice::pipeline;
using namespace sluice::pipeline::test;

namespace {

class StageAnswersTest : public StageWorkerTest {};

/// A request whose logits give no token fails alone.
TEST_F(StageAnswersTest, ARowWithoutATokenHasAnError) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto compute = std::make_unique<StepHook>(false, [](const auto &) {});
  compute->outputs = {{0, nan, 0}, {0, 1, 0}};
  std::vector<ResultRow> results;
  uint64_t launched = 0;
  make(std::move(compute), std::make_unique<ResultOutput>(
                               "rank 2: stage 1", 3, 16, 4, MakeTokenTrie(),
                               [&](const ResultFrame &frame) {
                                 results.insert(results.end(),
                                                frame.results.begin(),
                                                frame.results.end());
                                 launched = frame.launched;
                                 return Status();
                               }));
  StepFrame frame = firstFrame(1);
  for (Row &row : frame.rows)
    row.wantsOutput = true;
  frame.launched = 4;
  worker->arrive({std::move(frame), {}, {}});
  run();
  EXPECT_EQ(launched, 4u);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].error,
            "rank 2: stage 1: behind position 0: sampling: the logit of token "
            "1 is nan");
  EXPECT_TRUE(results[0].isNotFinite);
  EXPECT_FALSE(results[1].isNotFinite);
  EXPECT_EQ(results[1].error, "");
  EXPECT_EQ(results[1].token, 1);
}

/// A device sees a parent's death in time, and its child's too late: neither is
/// answered.
TEST_F(StageAnswersTest, AnOrphanIsNotAnswered) {
  auto compute =
      std::make_unique<StepHook>(false, [&](const device::StepInput &input) {
        board.publish({0, 0, 3, false}, now());
        std::vector<uint8_t> alive(4, 1);
        EXPECT_TRUE(input.checkpoints->findDead(alive));
        std::vector<uint8_t> stays(4, 1);
        for (size_t row = 0; row < 4; ++row)
          stays[row] = input.batch->tokens()[row] != 1;
        input.checkpoints->leave(stays, now());
        EXPECT_EQ(input.batch->rows(), 3);
        input.checkpoints->dropOrphans();
        EXPECT_EQ(input.batch->rows(), 2);
      });
  compute->outputs = {{0, 0, 1}, {0, 1, 0}};
  std::vector<ResultRow> results;
  make(std::move(compute),
       std::make_unique<ResultOutput>("stage", 3, 16, 4, MakeTokenTrie(),
                                      [&](const ResultFrame &frame) {
                                        results = frame.results;
                                        return Status();
                                      }));
  StepFrame frame = firstFrame(2);
  frame.rows.push_back({.node = 3, .parent = 0, .position = 1});
  for (Row &row : frame.rows) {
    row.wantsOutput = true;
    row.token = int32_t(row.node);
  }
  worker->arrive({std::move(frame), {}, {}});
  run();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].node, 0);
  EXPECT_EQ(results[1].node, 3);
  EXPECT_EQ(results[0].token + results[1].token, 3);
  EXPECT_EQ(worker->report().departedAtCheckpoint, 2u);
  EXPECT_EQ(worker->report().cancelLatency.count, 2);
}

/// A prompt is scored as it is, whatever the grammar says.
TEST_F(StageAnswersTest, RowsOfAScoredPromptAreAnsweredWithItsTokens) {
  std::vector<OutputRequest> wants;
  auto compute =
      std::make_unique<StepHook>(false, [&](const device::StepInput &input) {
        wants.assign(input.requests.begin(), input.requests.end());
      });
  compute->outputs = {{0, 1, 0}, {0, 0, 1}, {0, 1, 1}};
  std::vector<ResultRow> results;
  makeLast(std::move(compute), results);
  StepFrame frame = firstFrame(0);
  OpenRequest &open = frame.opens[0];
  open.promptTokens = open.knownTokens = 3;
  open.sampling.temperature = 0;
  open.logProbabilities = 1;
  open.grammar = {GrammarSource::Kind::Gbnf, "root ::= \"a\""};
  open.scored = {0, 2, 1};
  frame.rows.clear();
  for (int32_t i = 0; i < 3; ++i)
    frame.rows.push_back({.node = i,
                          .parent = i - 1,
                          .position = i,
                          .token = open.scored[size_t(i)],
                          .certain = true,
                          .wantsOutput = true});
  worker->arrive({std::move(frame), {}, {}});
  run();
  ASSERT_EQ(wants.size(), 3u);
  for (const OutputRequest &want : wants)
    EXPECT_EQ(want.kind, OutputRequest::Logits);
  ASSERT_EQ(results.size(), 3u);
  const double two = std::log(std::exp(1.0) + 2);
  EXPECT_EQ(results[0].token, 2);
  ASSERT_EQ(results[0].report.size(), 2u);
  EXPECT_EQ(results[0].report[0].token, 2);
  EXPECT_DOUBLE_EQ(results[0].report[0].logProbability, -two);
  EXPECT_EQ(results[0].report[1].token, 1);
  EXPECT_DOUBLE_EQ(results[0].report[1].logProbability, 1 - two);
  EXPECT_EQ(results[1].token, 1);
  EXPECT_DOUBLE_EQ(results[1].report[0].logProbability, -two);
  // The first token after the prompt, which the grammar allows.
  EXPECT_EQ(results[2].token, 0);
}

/// The trace says in which stage numbers that are not finite began.
TEST_F(StageAnswersTest, RowsThatAreNotFiniteAreTraced) {
  TraceBuffer events;
  trace = RoleTrace(events, 1, trace::Track::Stage);
  receives = true;
  auto compute =
      std::make_unique<StepHook>(true, [](const device::StepInput &) {});
  const float nan = std::nanf("");
  compute->outputs = {{0, nan, 0}, {0, 1, 0}};
  std::vector<ResultRow> results;
  makeLast(std::move(compute), results);
  StepFrame frame = firstFrame(2);
  frame.rows[0].wantsOutput = frame.rows[1].wantsOutput = true;
  const std::vector<float> rows = {1, 2, 3, 4, -INFINITY, 6};
  ArrivedFrame arrival{std::move(frame), {}, {}};
  arrival.activations = {
      ActivationFormat::F32, 2,
      std::span(reinterpret_cast<const uint8_t *>(rows.data()),
                rows.size() * sizeof(float))};
  worker->arrive(std::move(arrival));
  run();
  std::vector<std::array<int64_t, 4>> seen;
  for (const trace::TraceEvent &event : events.events)
    if (event.kind == trace::Kind::NotFinite)
      seen.push_back(
          {event.values[0], event.values[1], event.values[2], event.values[3]});
  const int64_t in = int64_t(trace::RowPlace::ComesIn),
                out = int64_t(trace::RowPlace::GoesOut);
  EXPECT_EQ(seen, (std::vector<std::array<int64_t, 4>>{{0, 2, 2, in},
                                                       {0, 0, 0, out}}));
}

/// The device is asked for logits only if something reads them.
TEST_F(StageAnswersTest, LogitsAreWantedWhereATokenIsNotEnough) {
  constexpr OutputRequest::Kind expected[] = {
      OutputRequest::Greatest, OutputRequest::Drawn, OutputRequest::Candidates};
  std::vector<std::function<void(OpenRequest &)>> requests = {
      [](OpenRequest &) {},
      [](OpenRequest &open) { open.sampling.temperature = 1; },
      [](OpenRequest &open) {
        open.sampling.temperature = 1;
        open.sampling.topK = 1;
      },
      [](OpenRequest &open) { open.sampling.repetitionPenalty = 2; },
      [](OpenRequest &open) { open.sampling.logitBias[1] = -1; },
      [](OpenRequest &open) { open.logProbabilities = 0; },
      [](OpenRequest &open) {
        open.grammar = {GrammarSource::Kind::Gbnf, "root ::= \"a\""};
      }};
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<OutputRequest> wants;
    auto compute =
        std::make_unique<StepHook>(false, [&](const device::StepInput &input) {
          wants.assign(input.requests.begin(), input.requests.end());
        });
    compute->outputs = {{0, 1, 0}};
    if (i < 2)
      compute->found = 2;
    if (i == 2)
      compute->chosen = {{-3, 2}};
    std::vector<ResultRow> results;
    makeLast(std::move(compute), results);
    StepFrame frame = firstFrame(1);
    frame.opens[0].sampling.temperature = 0;
    requests[i](frame.opens[0]);
    frame.rows[1].wantsOutput = true;
    worker->arrive({std::move(frame), {}, {}});
    run();
    ASSERT_EQ(wants.size(), 1u) << i;
    EXPECT_EQ(wants[0].kind,
              i < std::size(expected) ? expected[i] : OutputRequest::Logits)
        << i;
    ASSERT_EQ(results.size(), 1u) << i;
    EXPECT_EQ(results[0].error, "");
    if (i < std::size(expected))
      EXPECT_EQ(results[0].token, 2);
  }
}

} // namespace
