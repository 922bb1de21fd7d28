//===- HeadTest.cpp - the rules of the head -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests rule by rule what the head does with requests and results.
// HeadGuessingTest.cpp tests guesses, and HeadPipelineTest.cpp random
// schedules.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/HeadScript.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::test;

namespace {

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

TEST(HeadTest, LimitsAndRequestsAreChecked) {
  SpeculationOptions options;
  HeadLimits limits = {.contextLength = 4, .hasDraft = false};
  auto message = [&] {
    return Head::create(limits, options, timesWith(0)).status().message();
  };
  EXPECT_EQ(message(), "head: speculation needs a draft");
  limits.hasDraft = true;
  EXPECT_EQ(message(), "");
  options.depth = 0;
  EXPECT_EQ(message(), "head: speculation depth is 0, below 1");
  options.depth = 5000;
  EXPECT_EQ(message(), "head: speculation depth is 5000, above 1024");
  options.depth = 4;
  limits.framesInFlight = 3;
  EXPECT_EQ(message(), "head: frames in flight is 3, below 4");
  limits.framesInFlight = 64;
  options.mode = SpeculationMode::Sync;
  options.splitRows = true;
  EXPECT_EQ(message(), "head: single rows of 128 guesses do not fit 64 frames "
                       "in flight");

  Script script;
  script.limits.contextLength = 4;
  script.submit({1, 2, 3, 4});
  RequestSpec spec;
  auto refused = [&] {
    Expected<std::optional<RequestId>> id = script.head->submit(spec, Time(0));
    return !id ? id.status().message() : *id ? "" : "no room";
  };
  EXPECT_EQ(refused(), "request: the prompt is empty");
  spec.prompt.assign(5, 1);
  EXPECT_EQ(refused(), "request: the prompt has 5 tokens, the context 4");
  spec.prompt.assign(1, 1);
  spec.grammar = {GrammarSource::Kind::Gbnf,
                  std::string(GrammarSource::maxBytes + 1, ' ')};
  EXPECT_EQ(refused(), "request: the grammar has 1048577 bytes, more than "
                       "1048576");
  spec.grammar = {};
  EXPECT_EQ(refused(), "no room");
  EXPECT_EQ(spec.prompt, Tokens{1});
}

/// Numbers that a rank's check of frames would end the pipeline over end one
/// request.
TEST(HeadTest, NumbersOfARequestEndThatRequestAlone) {
  Script script;
  script.limits.vocabSize = 100;
  script.submit({1});
  RequestSpec good;
  good.prompt = {0, 99};
  auto refused = [&](auto change) {
    RequestSpec spec = good;
    change(spec);
    return script.head->check(spec).message();
  };
  using Spec = RequestSpec;
  EXPECT_EQ(refused([](Spec &) {}), "");
  EXPECT_EQ(refused([](Spec &spec) { spec.prompt = {1, 100}; }),
            "request: token 100 is not among the model's 100");
  EXPECT_EQ(refused([](Spec &spec) { spec.prompt[0] = -1; }),
            "request: token -1 is not among the model's 100");
  EXPECT_EQ(refused([](Spec &spec) { spec.generated = {100}; }),
            "request: token 100 is not among the model's 100");
  EXPECT_EQ(refused([](Spec &spec) { spec.logProbabilities = 100; }), "");
  EXPECT_EQ(refused([](Spec &spec) { spec.logProbabilities = 101; }),
            "request: 101 log-probabilities of 100 tokens");
  EXPECT_THAT(refused([](Spec &spec) { spec.sampling.topP = 2; }),
              testing::StartsWith("request: top_p"));
  EXPECT_THAT(refused([](Spec &spec) { spec.sampling.logitBias = {{100, 1}}; }),
              testing::StartsWith("request: logit_bias"));
}

TEST(HeadTest, PromptLeavesInChunks) {
  Script script;
  script.limits.prefillRows = 3;
  script.limits.stages = 2;
  script.submit({10, 11, 12, 13, 14, 15, 16});
  ASSERT_EQ(script.last.launches.size(), 3u);
  for (const StepFrame &frame : script.last.launches) {
    EXPECT_EQ(frame.opens.size(), frame.step == 0 ? 1u : 0u);
    ASSERT_EQ(frame.marks.size(), 1u);
    EXPECT_EQ(frame.marks[0].confirmed, 6);
    for (const Row &row : frame.rows) {
      EXPECT_TRUE(row.certain);
      EXPECT_EQ(row.parent, row.node - 1);
      EXPECT_EQ(row.position, row.node);
      EXPECT_EQ(row.token, 10 + row.node);
      EXPECT_EQ(row.wantsOutput, row.node == 6);
    }
  }
  EXPECT_EQ(Script::nodesOf(script.last.launches[0]), (NodeIds{0, 1, 2}));
  EXPECT_EQ(Script::nodesOf(script.last.launches[2]), (NodeIds{6}));
  EXPECT_EQ(script.last.launches[0].opens[0].promptTokens, 7);

  // The draft gets the same rows, one frame after another, and goes on beyond
  // them.
  ASSERT_EQ(script.drafted(), (NodeIds{0, 1, 2}));
  EXPECT_EQ(script.last.drafts[0].opens.size(), 1u);
  script.guess({});
  ASSERT_EQ(script.drafted(), (NodeIds{3, 4, 5}));
  EXPECT_TRUE(script.last.drafts[0].opens.empty());
  script.guess({});
  ASSERT_EQ(script.drafted(), (NodeIds{6}));
  EXPECT_TRUE(script.last.drafts[0].rows[0].wantsOutput);
  EXPECT_TRUE(script.last.drafts[0].rows[0].certain);
  script.guess({{6, {{77, 0.9f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{7}));
  script.wait(100);
  EXPECT_EQ(script.launched(), (NodeIds{7}));
  EXPECT_FALSE(script.last.launches[0].rows[0].certain);
}

/// Two chunks leave for each stage, and the next one when the first has passed.
TEST(HeadTest, LongPromptKeepsTheStagesBusyAndNoMore) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.limits.prefillRows = 2;
  script.submit(Tokens(9, 1));
  ASSERT_EQ(script.last.launches.size(), 2u);
  EXPECT_EQ(script.last.launches[1].launched, 2u);
  script.passed(1);
  EXPECT_EQ(script.launched(), (NodeIds{4, 5}));
  script.passed(1);
  EXPECT_TRUE(script.launched().empty());
  script.passed(3);
  ASSERT_EQ(script.last.launches.size(), 2u);
  EXPECT_EQ(Script::nodesOf(script.last.launches[1]), (NodeIds{8}));
  EXPECT_TRUE(script.last.launches[1].rows[0].wantsOutput);
  script.result(8, 42);
  EXPECT_EQ(script.tokens(), (Tokens{42}));
}

TEST(HeadTest, TheTextEndsExactlyOnce) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({1}, 2, {9});
  script.result(0, 3);
  EXPECT_EQ(script.tokens(), (Tokens{3}));
  EXPECT_TRUE(script.last.finished.empty());
  script.result(1, 4);
  EXPECT_EQ(script.tokens(), (Tokens{4}));
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].closes, (std::vector<RequestId>{0}));

  // A stop token is not part of the text, even if the length is reached.
  script.submit({1}, 1, {9});
  script.result(2, 9);
  EXPECT_TRUE(script.tokens().empty());
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Stop);

  script.submit({1}, 0);
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
  EXPECT_TRUE(script.last.launches.empty());
  EXPECT_EQ(script.head->holdings(), Head::Holdings());
}

TEST(HeadTest, TheContextEndsTheText) {
  Script script;
  script.limits.contextLength = 3;
  script.submit({1, 2});
  // Row 2 is the last with room, so nothing follows it.
  script.guess({{1, {{20, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{2}));
  script.result(1, 20);
  EXPECT_TRUE(script.last.finished.empty());
  script.result(2, 21);
  EXPECT_EQ(script.tokens(), (Tokens{21}));
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
}

TEST(HeadTest, NoRowLeavesThatNoTokenNeeds) {
  Script script;
  script.submit({1}, 2);
  // Two tokens remain: the prompt's own, and that of one guess.
  script.guess({{0, {{20, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{1}));

  Script one;
  one.submit({1}, 1);
  EXPECT_TRUE(one.last.drafts.empty());
}

TEST(HeadTest, FinishingLetsGoOfEverything) {
  TwoGuesses script;
  EXPECT_EQ(script.drafted(), NodeIds());
  script.head->finish(0, FinishReason::Cancelled, script.now);
  script.take();
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Cancelled);
  ASSERT_EQ(script.last.cancels.size(), 1u);
  EXPECT_TRUE(script.last.cancels[0].ended);
  EXPECT_EQ(script.last.cancels[0].confirmed, 3);
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].closes.size(), 1u);
  EXPECT_EQ(script.counters().cancelled, 2);
  EXPECT_EQ(script.head->holdings(), Head::Holdings());
  script.head->finish(0, FinishReason::Error, script.now);
  script.take();
  EXPECT_TRUE(script.last.finished.empty());

  // The draft hears of the end once it has answered, and then of the slot's
  // next request, whose node numbers continue.
  EXPECT_TRUE(script.last.drafts.empty());
  script.submit({8});
  EXPECT_EQ(script.launched(), (NodeIds{4}));
  EXPECT_EQ(script.last.launches[0].opens[0].firstNode, 4);
  EXPECT_TRUE(script.last.drafts.empty());
  script.guess({});
  ASSERT_EQ(script.last.drafts.size(), 1u);
  EXPECT_EQ(script.last.drafts[0].closes.size(), 1u);
  EXPECT_TRUE(script.last.drafts[0].rows.empty());
  script.guess({});
  EXPECT_EQ(script.drafted(), (NodeIds{4}));
  EXPECT_EQ(script.last.drafts[0].opens.size(), 1u);

  // Late answers to the slot's last request have no effect, but are counted.
  script.result(1, 20);
  EXPECT_EQ(script.head->totals().computedDead, 0);
  script.result(2, 21);
  EXPECT_TRUE(script.tokens().empty());
  EXPECT_EQ(script.counters().computedDead, 0);
  EXPECT_EQ(script.head->totals().computedDead, 1);
  EXPECT_EQ(script.head->totals().cancelled, 2);
  EXPECT_EQ(script.head->totals().launched, 2);
  script.result(4, 21);
  EXPECT_EQ(script.tokens(), (Tokens{21}));
}

TEST(HeadTest, WhatTheUserEndsIsNotCountedAsWrong) {
  TwoGuesses script;
  script.result(1, 20);
  script.head->finish(0, FinishReason::Timeout, script.now);
  script.take();
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Timeout);
  script.result(2, 21); // came true before the request ended
  EXPECT_EQ(script.counters().computedDead, 0);
  script.result(3, 21); // did not come true
  EXPECT_EQ(script.counters().computedDead, 1);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
}

//===----------------------------------------------------------------------===//
// Verifying
//===----------------------------------------------------------------------===//

TEST(HeadTest, ARightGuessKeepsThePipeFull) {
  TwoGuesses script;
  script.result(1, 20);
  EXPECT_EQ(script.tokens(), (Tokens{20}));
  EXPECT_TRUE(script.launched().empty());
  ASSERT_EQ(script.last.cancels.size(), 1u); // for the sibling
  EXPECT_EQ(script.last.cancels[0].confirmed, 2);
  EXPECT_EQ(script.last.cancels[0].epoch, 1);
  EXPECT_FALSE(script.last.cancels[0].ended);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
  // The sibling's result may still come.
  script.result(3, 1);
  EXPECT_TRUE(script.tokens().empty());
  EXPECT_EQ(script.counters().computedDead, 1);
  script.result(2, 44);
  EXPECT_EQ(script.tokens(), (Tokens{44}));
}

TEST(HeadTest, NoCancelWhereNothingInFlightDied) {
  Script script;
  script.options.nodes = 1;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{2}));
  script.result(1, 20);
  EXPECT_TRUE(script.last.cancels.empty());
  EXPECT_EQ(script.counters().epochs, 0);
}

TEST(HeadTest, AWrongGuessDiesAndTheTruthLeavesAlone) {
  TwoGuesses script;
  script.result(1, 99);
  EXPECT_EQ(script.tokens(), (Tokens{99}));
  ASSERT_EQ(script.last.cancels.size(), 1u);
  ASSERT_EQ(script.last.launches.size(), 1u);
  const StepFrame &frame = script.last.launches[0];
  ASSERT_EQ(frame.rows.size(), 1u);
  const Row &row = frame.rows[0];
  EXPECT_EQ(script.last.cancels[0].confirmed, row.node);
  EXPECT_EQ(frame.marks[0].confirmed, row.node);
  EXPECT_GT(row.node, 3);
  EXPECT_EQ(row.parent, 1);
  EXPECT_EQ(row.position, 2);
  EXPECT_EQ(row.token, 99);
  EXPECT_TRUE(row.certain);
  EXPECT_EQ(script.counters().cancelled, 2);
  EXPECT_EQ(script.counters().epochs, 1);
}

TEST(HeadTest, AGuessThatWaitedLeavesAsCertain) {
  Script script;
  script.options.nodes = 1;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
  script.wait(5);
  script.result(1, 30);
  EXPECT_EQ(script.launched(), (NodeIds{3}));
  EXPECT_TRUE(script.last.launches[0].rows[0].certain);
  EXPECT_EQ(script.last.cancels.size(), 1u);
  EXPECT_EQ(script.counters().accepted, 0);
  EXPECT_EQ(script.counters().launched, 1);
}

TEST(HeadTest, AResultOfASlotThatHadNoRequestIsNoNews) {
  Script script;
  script.limits.requests = 2;
  script.submit({5, 6});
  script.result(0, 9, /*request=*/1);
  EXPECT_TRUE(script.tokens().empty());
  script.result(1, 8);
  EXPECT_EQ(script.tokens(), (Tokens{8}));
}

TEST(HeadTest, AnErrorEndsItsRequestAlone) {
  Script script;
  script.limits.requests = 2;
  script.limits.stages = 2;
  script.submit({5, 6});
  script.submit({7});
  ResultFrame frame;
  frame.results.push_back({1, 0, 0, {}, "rank 1: no token"});
  frame.results.push_back({0, 1, 8, {}});
  script.head->onResults(frame, script.now);
  script.take();
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].request, 0);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Error);
  EXPECT_EQ(script.last.finished[0].error, "rank 1: no token");
  EXPECT_EQ(script.tokens(), (Tokens{8}));
}

TEST(HeadTest, OneCancelForAllResultsOfAFrame) {
  TwoGuesses script;
  script.guess({{2, {{21, 0.8f}, {31, 0.5f}}}});
  NodeIds more = script.launched();
  ASSERT_EQ(more.size(), 2u);
  ResultFrame frame;
  frame.results.push_back({1, 0, 20, {}});
  frame.results.push_back({2, 0, 99, {}});
  script.head->onResults(frame, script.now);
  script.take();
  EXPECT_EQ(script.tokens(), (Tokens{20, 99}));
  ASSERT_EQ(script.last.cancels.size(), 1u);
  EXPECT_EQ(script.last.cancels[0].epoch, 2);
  EXPECT_EQ(script.launched(), (NodeIds{script.last.cancels[0].confirmed}));
}

TEST(HeadTest, WithoutCancelsMarksTravelWithRows) {
  Script script;
  script.options.cancel = false;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}}}});
  script.wait(5);
  script.result(1, 99);
  EXPECT_TRUE(script.last.cancels.empty());
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].marks[0].confirmed,
            script.last.launches[0].rows[0].node);
  script.head->finish(0, FinishReason::Cancelled, script.now);
  script.take();
  EXPECT_TRUE(script.last.cancels.empty());
}

TEST(HeadTest, ReasonsHaveNames) {
  EXPECT_EQ(finishReasonName(FinishReason::Stop), "stop");
  EXPECT_EQ(finishReasonName(FinishReason::Length), "length");
  EXPECT_EQ(finishReasonName(FinishReason::Cancelled), "cancelled");
  EXPECT_EQ(finishReasonName(FinishReason::Timeout), "timeout");
  EXPECT_EQ(finishReasonName(FinishReason::Error), "error");
}

} // namespace
