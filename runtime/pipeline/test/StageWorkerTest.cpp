//===- StageWorkerTest.cpp - a stage and its thread -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StageWorker.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;
using std::chrono::milliseconds;

namespace {

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

/// The mailbox may hold more than the stage: the head's certain rows and closes
/// do not wait for room. Frames for which the stage has no room wait, which is
/// no error.
TEST_F(StageWorkerTest, TakesFromTheMailboxWhatTheStageHasRoomFor) {
  config.limits.fuse = false;
  int64_t max = 0;
  make([&](const device::StepInput &) {
    max = std::max(max, worker->waiting());
  });
  arriveFirst(0);
  constexpr int64_t count = 20;
  for (int64_t i = 1; i <= count; ++i) {
    StepFrame frame;
    frame.rows.push_back(
        {.node = i, .parent = i - 1, .position = int32_t(i), .certain = true});
    worker->arrive({std::move(frame), {}, {}});
  }
  EXPECT_FALSE(worker->hasRoom());
  EXPECT_EQ(worker->waiting(), count + 1);
  run();
  EXPECT_TRUE(worker->hasRoom());
  ASSERT_EQ(sent.size(), size_t(count) + 1);
  for (size_t i = 0; i < sent.size(); ++i)
    EXPECT_EQ(sent[i].rows.at(0).node, NodeId(i));
  EXPECT_EQ(worker->report().steps, uint64_t(count) + 1);
}

TEST_F(StageWorkerTest, CancelsCountFromTheirOwnDecisions) {
  Time decided = now() - milliseconds(400);
  make([&](const device::StepInput &input) {
    // There was another cancel long before these rows.
    board.publish({0, 0, 0, false}, decided - std::chrono::hours(1));
    input.checkpoints->checkpoint();
    // Guess 2 dies by the first cancel, and guess 1 by the second, the end.
    board.publish({0, 0, 1, false}, decided);
    board.publish({0, 0, 9, true}, now());
    input.checkpoints->checkpoint();
  });
  StepFrame frame = firstFrame(1);
  frame.rows.push_back({.node = 2, .parent = 0, .position = 1});
  frame.rows.push_back({.node = 3, .parent = 1, .position = 2});
  worker->arrive({std::move(frame), {}, {}});
  run();
  StageReport report = worker->report();
  EXPECT_EQ(report.cancelLatency.count, 2);
  EXPECT_GE(report.cancelLatency.maxMicros, 400e3);
  EXPECT_LT(report.cancelLatency.maxMicros, 60e6);
  EXPECT_LT(report.cancelLatency.p50Micros, 400e3);
  EXPECT_EQ(report.rows, 4u);
  EXPECT_EQ(report.departedAtCheckpoint, 4u);
  EXPECT_EQ(report.guesses, 0u);
}

/// On a device rows have left before the step has ended, but their departure
/// counts from then on.
TEST_F(StageWorkerTest, CancelsOnADeviceCountUntilTheHostSawThem) {
  Time decided = now() - milliseconds(400);
  make([&](const device::StepInput &input) {
    board.publish({0, 0, 1, true}, decided);
    std::vector<uint8_t> alive(2, 1);
    EXPECT_TRUE(input.checkpoints->findDead(alive));
    input.checkpoints->leave({}, {});
    input.checkpoints->leave(std::vector<uint8_t>{0, 0},
                             decided + std::chrono::microseconds(50));
    input.checkpoints->dropOrphans();
  });
  arriveFirst(1);
  run();
  StageReport report = worker->report();
  EXPECT_EQ(report.cancelLatency.count, 1);
  EXPECT_LT(report.cancelLatency.maxMicros, 100);
  EXPECT_EQ(report.departedAtCheckpoint, 2u);
  EXPECT_EQ(report.checkpoints, 2u);
}

/// The mark came with a frame, before its cancel: the last cancel is not
/// measured for it.
TEST_F(StageWorkerTest, AMarkWithoutATimeIsNotMeasured) {
  make([&](const device::StepInput &input) {
    board.publish({0, 0, 0, false}, now() - std::chrono::hours(1));
    board.publish({0, 0, 7, false});
    input.checkpoints->checkpoint();
  });
  arriveFirst(2);
  run();
  EXPECT_EQ(worker->report().departedAtCheckpoint, 2u);
  EXPECT_EQ(worker->report().cancelLatency.count, 0);
}

/// Steps of 200 ms with a checkpoint every 20 ms.
std::unique_ptr<StepPacer> slowSteps() {
  cluster::ModelCost model;
  cluster::OpCost op;
  op.weightBytes = 20'000'000;
  model.layers.emplace_back().ops = {op};
  cluster::DeviceSpec device;
  device.bytesPerSecond = 1e8;
  device.flopsPerSecond = 1e15;
  cluster::StageCost cost(model, cluster::wholeModel(model), device);
  return std::make_unique<StepPacer>(cost, 16, milliseconds(20));
}

/// An emulated step has the checkpoints of the described hardware, and no
/// others; the rows that live at its end are computed.
TEST_F(StageWorkerTest, EmulatedStepsHaveTheirOwnCheckpoints) {
  std::vector<int64_t> computed;
  make(
      [&](const device::StepInput &input) {
        EXPECT_TRUE(input.checkpoints->checkpoint().empty());
        computed.push_back(input.batch->rows());
      },
      slowSteps());
  StepFrame frame = firstFrame(1);
  frame.rows.push_back({.node = 2, .parent = 0, .position = 1});
  worker->arrive({std::move(frame), {}, {}});
  Time start = now();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    board.publish({0, 1, 1, false},
                  now()); // guess 1 is right, guess 2 is wrong
  });
  run();
  killer.join();
  EXPECT_GE(now() - start, milliseconds(200));
  EXPECT_EQ(computed, (std::vector<int64_t>{2}));
  EXPECT_EQ(worker->report().barriers, 7u);
  EXPECT_EQ(worker->report().checkpoints, 9u);
  EXPECT_EQ(worker->report().departedAtCheckpoint, 1u);
}

TEST_F(StageWorkerTest, AnEmulatedStepEndsWhereNoRowIsLeft) {
  make([&](const device::StepInput &) { ADD_FAILURE() << "computed"; },
       slowSteps());
  arriveFirst(2);
  Time start = now();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    board.publish({0, 0, 9, true}, now());
  });
  run();
  killer.join();
  EXPECT_GE(now() - start, milliseconds(50));
  StageReport report = worker->report();
  EXPECT_GE(report.checkpoints, 1u);
  EXPECT_EQ(report.departedAtCheckpoint, 3u);
  EXPECT_EQ(report.barriers, 0u) << "of a step that was not computed";
  EXPECT_EQ(report.cancelLatency.count, 1);
}

/// A frame without rows says nothing about a format, even as the oldest of the
/// step.
TEST_F(StageWorkerTest, RowsAreReadInThePlansFormat) {
  config.incomingFormat = ActivationFormat::BF16;
  receives = true;
  comm::Bytes data = {1, 2, 3, 4};
  comm::ActivationRows row{ActivationFormat::BF16, 2, data};
  std::vector<ActivationFormat> formats;
  bool first = true;
  make([&](const device::StepInput &input) {
    formats.push_back(input.incomingFormat);
    EXPECT_EQ(input.incoming.size(), 1u);
    EXPECT_EQ(input.incoming[0], data.data());
    if (!std::exchange(first, false))
      return;
    // Both frames are in the next step.
    worker->arrive({});
    StepFrame frame;
    frame.rows.push_back({.node = 1, .parent = 0, .position = 1});
    worker->arrive({std::move(frame), {}, row});
    worker->arrive({{}, {}, {}, /*last=*/true});
  });
  StepFrame opening;
  OpenRequest open;
  open.promptTokens = open.knownTokens = 1;
  opening.opens.push_back(open);
  opening.rows.push_back({.certain = true});
  worker->arrive({std::move(opening), {}, row});
  worker->run();
  EXPECT_TRUE(failed.ok()) << failed.message();
  EXPECT_EQ(formats,
            (std::vector{ActivationFormat::BF16, ActivationFormat::BF16}));
  EXPECT_EQ(sent.size(), 2u);
}

/// A request whose logits give no token fails alone.
TEST_F(StageWorkerTest, ARowWithoutATokenHasAnError) {
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
TEST_F(StageWorkerTest, AnOrphanIsNotAnswered) {
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
TEST_F(StageWorkerTest, RowsOfAScoredPromptAreAnsweredWithItsTokens) {
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
TEST_F(StageWorkerTest, RowsThatAreNotFiniteAreTraced) {
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
TEST_F(StageWorkerTest, LogitsAreWantedWhereATokenIsNotEnough) {
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

TEST_F(StageWorkerTest, ALackOfMemoryIsAnError) {
  make([](const device::StepInput &) { throw std::bad_alloc(); });
  arriveFirst(0);
  worker->run();
  EXPECT_EQ(failed.message(), "stage 0: out of memory");
  EXPECT_FALSE(ended);
}

} // namespace
