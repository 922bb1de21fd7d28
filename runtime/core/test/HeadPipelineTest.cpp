//===- HeadPipelineTest.cpp - the head with a model of a pipeline ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the head with the model of a pipeline in PipelineModel.h. The first half
// runs thousands of wild schedules (random times, late and repeated cancels,
// dead rows found or not, users who cancel) in every mode and checks what must
// hold in each: the true text, one end for each request, nothing held at the
// end, counters that add up. The second half measures speed under exact times
// and compares it with the plain pipeline and with a bound that no schedule can
// exceed.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/PipelineModel.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Step times of a CPU stage: the second row is cheap, further rows are not.
double cpuMillis(int64_t rows) {
  return rows == 1 ? 61 : 77 + 38.0 * static_cast<double>(rows - 2);
}

double memoryMillis(int64_t) { return 61; }

double draftMillis(int64_t rows) { return 7 + static_cast<double>(rows); }

Time fromMillis(double millis) {
  return Time(static_cast<int64_t>(millis * 1e6));
}

StepTimes table(const std::function<double(int64_t)> &millis) {
  std::array<Time, StepTimes::rowCounts.size()> times;
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = fromMillis(millis(StepTimes::rowCounts[i]));
  return StepTimes(times);
}

PipelineTimes timesOf(const PipelineModelOptions &options) {
  double one = options.stepMillis(1);
  double stages = static_cast<double>(options.stages);
  return {table(options.stepMillis),
          fromMillis(stages * one + (stages + 1) * options.linkMillis),
          fromMillis(one / static_cast<double>(options.checkpoints)),
          table(options.draftMillis)};
}

//===----------------------------------------------------------------------===//
// Wild schedules
//===----------------------------------------------------------------------===//

/// A setting drawn from the seed.
struct WildRun {
  HeadLimits limits;
  SpeculationOptions speculation;
  PipelineModelOptions model;
};

WildRun wildRun(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  WildRun run;
  run.limits.requests = pick({1, 1, 2, 3});
  run.limits.contextLength = pick({9, 30, 100});
  run.limits.prefillRows = pick({1, 3, 8, 512});
  run.limits.framesInFlight = pick({4, 8, 256});
  run.limits.hasDraft = true;
  run.speculation.mode = static_cast<SpeculationMode>(random() % 3);
  run.speculation.depth = pick({1, 2, 5, 32});
  run.speculation.width = pick({1, 2, 4});
  run.speculation.nodes = pick({1, 3, 16, 128});
  run.speculation.draftRows = pick({1, 2, 4});
  run.speculation.splitRows =
      random() % 2 && (run.speculation.nodes + 1) * run.limits.requests <=
                          run.limits.framesInFlight;
  run.speculation.cancel = random() % 4;
  run.speculation.continuous = random() % 4;
  run.model.stages = pick({1, 2, 4, 8});
  run.model.stepMillis = random() % 2 ? cpuMillis : memoryMillis;
  run.model.draftMillis = draftMillis;
  run.model.linkMillis = static_cast<double>(pick({0, 1, 30}));
  run.model.checkpoints = pick({1, 4, 40});
  run.model.sharedRank = random() % 2;
  run.model.vocabulary = static_cast<int32_t>(pick({5, 20, 1000}));
  double a = static_cast<double>(pick({0, 30, 60, 90, 100})) / 100;
  run.model.hits = {a, (1 - a) / 2, (1 - a) / 4, 0};
  run.model.confidences = {0.7, 0.2, 0.1, 0.02};
  run.model.seed = seed;
  run.model.wild = true;
  run.model.speculation = run.speculation;
  return run;
}

RequestSpec randomRequest(std::mt19937_64 &random, const WildRun &run) {
  RequestSpec spec;
  int64_t longest = run.limits.contextLength;
  int64_t tokens = 1 + static_cast<int64_t>(random()) % longest;
  tokens = random() % 8 ? 1 + (std::abs(tokens) % (longest / 2)) : longest;
  for (int64_t i = 0; i < tokens; ++i)
    spec.prompt.push_back(
        static_cast<int32_t>(random() % uint64_t(run.model.vocabulary)));
  spec.maxTokens = static_cast<int64_t>(random() % 40) - 1;
  if (random() % 2)
    spec.stopTokens = {
        static_cast<int32_t>(random() % uint64_t(run.model.vocabulary))};
  return spec;
}

/// Checks the outcome of a request.
void expectRight(const PipelineModel &model, const ModelRequest &request) {
  FinishReason reason = FinishReason::Error;
  std::vector<int32_t> truth = model.truth(request.spec, reason);
  ASSERT_EQ(request.finished.size(), 1u) << "not ended exactly once";
  if (request.finished.front() == FinishReason::Cancelled) {
    ASSERT_LE(request.tokens.size(), truth.size());
    truth.resize(request.tokens.size());
  } else {
    EXPECT_EQ(request.finished.front(), reason);
  }
  EXPECT_EQ(request.tokens, truth);
  const SpeculationCounters &counters = request.counters;
  EXPECT_EQ(counters.launched, counters.accepted + counters.cancelled);
  EXPECT_LE(counters.computedDead, counters.cancelled);
}

void runWild(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  WildRun run = wildRun(seed);
  Expected<Head> head =
      Head::create(run.limits, run.speculation, timesOf(run.model), seed % 2);
  ASSERT_TRUE(head) << head.status().message();
  PipelineModel model(head.take(), run.model, run.limits);
  std::mt19937_64 random(seed);
  size_t count = 1 + random() % 6;
  for (size_t i = 0; i < count; ++i) {
    Time at(static_cast<int64_t>(1 + random() % 4000) * 1000000);
    model.submitAt(at, randomRequest(random, run));
    if (random() % 4 == 0)
      model.finishAt(at + Time(static_cast<int64_t>(random() % 4000) * 1000000),
                     i);
  }
  model.run();
  for (const std::string &rule : model.broken())
    ADD_FAILURE() << rule;
  for (const ModelRequest &request : model.requests())
    expectRight(model, request);
  EXPECT_EQ(model.theHead().holdings(), Head::Holdings());
  EXPECT_EQ(model.held(), 0);
  EXPECT_LE(model.maxFrames(),
            run.limits.framesInFlight + 2 * static_cast<int64_t>(count));
}

TEST(HeadPipelineTest, WildSchedulesChangeNothing) {
  for (uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed)
    runWild(seed);
}

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

struct Speed {
  double perSecond = 0;
  SpeculationCounters counters;
  /// The number of guesses that came true for each one that did not.
  double run = 0;
};

constexpr int64_t speedTokens = 400;

Speed measure(const SpeculationOptions &speculation,
              PipelineModelOptions options, int64_t tokens = speedTokens) {
  Speed speed;
  double seconds = 0, count = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    options.seed = seed;
    options.speculation = speculation;
    HeadLimits limits = {.contextLength = 4096, .hasDraft = true};
    Expected<Head> head =
        Head::create(limits, speculation, timesOf(options), false);
    EXPECT_TRUE(head) << head.status().message();
    PipelineModel model(head.take(), options, limits);
    RequestSpec spec;
    spec.prompt = {1, 2, 3, static_cast<int32_t>(seed)};
    spec.maxTokens = tokens;
    model.submitAt(Time(1), spec);
    model.run();
    const ModelRequest &request = model.requests().front();
    expectRight(model, request);
    EXPECT_TRUE(model.broken().empty());
    seconds +=
        static_cast<double>((request.lastToken - request.firstToken).count()) /
        1e9;
    count += static_cast<double>(request.tokens.size()) - 1;
    speed.counters.launched += request.counters.launched;
    speed.counters.accepted += request.counters.accepted;
    speed.counters.computedDead += request.counters.computedDead;
  }
  speed.perSecond = count / seconds;
  double right = static_cast<double>(speed.counters.accepted);
  speed.run = right / (count - right);
  return speed;
}

PipelineModelOptions oracle(double acceptance,
                            std::function<double(int64_t)> stepMillis) {
  PipelineModelOptions options;
  options.stepMillis = std::move(stepMillis);
  options.draftMillis = draftMillis;
  options.hits = {acceptance, 0, 0, 0};
  options.confidences = {0.7, 0.15, 0.08, 0.04};
  return options;
}

Speed plain(const PipelineModelOptions &options) {
  return measure({.mode = SpeculationMode::Off}, options, 50);
}

/// Returns the best speed of batches and of single rows, over all depths.
double bestSync(const PipelineModelOptions &options) {
  double best = 0;
  for (int64_t depth : {1, 2, 4, 8})
    for (bool split : {false, true})
      best = std::max(best, measure({.mode = SpeculationMode::Sync,
                                     .depth = depth,
                                     .width = 1,
                                     .splitRows = split},
                                    options, 150)
                                .perSecond);
  return best;
}

TEST(HeadPipelineTest, SpeculationNeverCosts) {
  for (auto step : {+[](int64_t rows) { return cpuMillis(rows); },
                    +[](int64_t rows) { return memoryMillis(rows); },
                    +[](int64_t rows) {
                      return 61 * (0.4 + 0.6 * static_cast<double>(rows));
                    }})
    for (double acceptance : {0.0, 0.1, 0.3}) {
      PipelineModelOptions options = oracle(acceptance, step);
      EXPECT_GE(measure({}, options).perSecond, 0.98 * plain(options).perSecond)
          << "acceptance " << acceptance;
    }
}

/// Almost nothing is sent once guesses are known to be useless, and everything
/// is sent again once the draft is good again.
TEST(HeadPipelineTest, SpeculationStopsAndStartsAgain) {
  PipelineModelOptions options = oracle(0.9, cpuMillis);
  options.rightFrom = 1 << 30;
  int64_t early = measure({}, options, 700).counters.launched;
  int64_t late = measure({}, options, 1500).counters.launched;
  EXPECT_LT(late - early, 2 * 800 / 20);
  options.rightFrom = 700;
  EXPECT_GT(measure({}, options, 1500).perSecond,
            1.5 * plain(options).perSecond);
}

/// The bound ignores that a step's first row costs more than the others, and
/// that the first slots are not full.
TEST(HeadPipelineTest, AsyncComesNearTheBound) {
  double gain = 0, max = 0;
  int64_t count = 0;
  for (double acceptance : {0.3, 0.6, 0.8, 0.9, 0.95}) {
    PipelineModelOptions options = oracle(acceptance, cpuMillis);
    Speed async = measure({}, options);
    double bound = (async.run + 1) / (8 * 0.061 + async.run * 0.038);
    EXPECT_GE(async.perSecond, 0.84 * bound) << "acceptance " << acceptance;
    double ratio = async.perSecond / bestSync(options);
    gain += ratio;
    max = std::max(max, ratio);
    ++count;
  }
  EXPECT_GE(gain / static_cast<double>(count), 1.3);
  EXPECT_GE(max, 2.15);
}

TEST(HeadPipelineTest, FreeRowsAreFilledWithATree) {
  PipelineModelOptions options = oracle(0, memoryMillis);
  options.hits = {0.64, 0.12, 0.06, 0.04};
  options.confidences = {0.64, 0.12, 0.06, 0.04};
  Speed chain = measure({.width = 1}, options);
  Speed tree = measure({.width = 4}, options);
  EXPECT_GE(tree.perSecond, 1.2 * chain.perSecond);
  // If rows are expensive, the tree does no harm.
  options.stepMillis = cpuMillis;
  EXPECT_GE(measure({.width = 4}, options).perSecond,
            0.98 * measure({.width = 1}, options).perSecond);
}

TEST(HeadPipelineTest, EachPartOfTheMechanismCounts) {
  PipelineModelOptions options = oracle(0.8, cpuMillis);
  Speed whole = measure({}, options);
  Speed noCancel = measure({.cancel = false}, options);
  EXPECT_LT(noCancel.perSecond, 0.95 * whole.perSecond);
  EXPECT_GT(noCancel.counters.computedDead, whole.counters.computedDead);
  EXPECT_LT(measure({.continuous = false}, options).perSecond,
            0.95 * whole.perSecond);
}

} // namespace
