//===- GrammarMasksTest.cpp - masks of the rows of a step -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMasks.h"

#include "runtime/pipeline/StepOutput.h"

#include <gtest/gtest.h>
#include <semaphore>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// A vocabulary of single letters: token t is 'a' + t; token 26 ends the text.
Expected<std::shared_ptr<const grammar::TokenTrie>> letters() {
  std::vector<std::string> texts;
  for (char c = 'a'; c <= 'z'; ++c)
    texts.emplace_back(1, c);
  texts.emplace_back();
  std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<int32_t> ends = {26};
  Expected<grammar::TokenTrie> made = grammar::TokenTrie::create(views, ends);
  EXPECT_TRUE(made) << made.status().message();
  return std::shared_ptr<const grammar::TokenTrie>(
      std::make_shared<const grammar::TokenTrie>(made.take()));
}

constexpr auto gbnf = GrammarSource::Kind::Gbnf;

class GrammarMasksTest : public testing::Test {
protected:
  explicit GrammarMasksTest(GrammarMasks::Limits maskLimits = {})
      : masks([this] { return vocabulary(); }, requests, maskLimits) {
    EXPECT_TRUE(masks
                    .start([this] {
                      if (whenMade)
                        whenMade();
                    })
                    .ok());
    StageLimits limits;
    limits.rows = 16;
    limits.outputs = 16;
    limits.requests = requests;
    limits.contextLength = 64;
    limits.branches = 32;
    pages.emplace(CachePages::create({64, 32, 64}).take());
    stage.emplace(Stage::create(limits, *pages, board).take());
  }

  /// A frame that opens request `id` with a prompt of one token.
  StepFrame opening(RequestId id, GrammarSource source, NodeId node = 0) {
    StepFrame frame;
    OpenRequest open;
    open.request = id;
    open.firstNode = node;
    open.promptTokens = open.knownTokens = 1;
    open.grammar = std::move(source);
    frame.opens.push_back(open);
    frame.rows.push_back(row(id, node, noNode, 0, 25, true));
    return frame;
  }
  /// Returns the same frame, but more of the prompt follows.
  StepFrame prompt(RequestId id, const std::string &text, NodeId node = 0) {
    StepFrame frame = opening(id, {gbnf, "root ::= \"" + text + "\""}, node);
    frame.opens[0].promptTokens = frame.opens[0].knownTokens = 2;
    frame.rows[0].wantsOutput = false;
    return frame;
  }
  static Row row(RequestId id, NodeId node, NodeId parent, int32_t position,
                 int32_t token, bool certain) {
    return {.node = node,
            .parent = parent,
            .request = id,
            .position = position,
            .token = token,
            .certain = certain,
            .wantsOutput = true};
  }
  /// Forms the step, calls `look`, and ends the step.
  template <typename Look> void step(StepFrame frame, Look look) {
    ASSERT_TRUE(stage->enqueue(std::move(frame)));
    Expected<bool> formed = stage->formStep();
    ASSERT_TRUE(formed && *formed);
    masks.begin(*stage);
    look();
    StepFrame out;
    stage->finishStep(out);
    masks.close(out.closes);
  }
  decltype(letters()) vocabulary() {
    if (++asks == 1)
      asked.set_value();
    if (asks == 2)
      askedAgain.set_value();
    if (held && asks == 1)
      gate.get_future().wait();
    if (counts)
      return failure(asks);
    return letters();
  }
  /// Returns the letters that may follow the row of the node; "any"; or the
  /// error.
  std::string after(NodeId node, RequestId request = 0) {
    Row wanted;
    wanted.node = node;
    wanted.request = request;
    std::shared_ptr<RowMask> made = masks.maskOf(wanted);
    if (!made)
      return "any";
    masks.waitFor(*made);
    if (!made->status.ok())
      return made->status.message();
    if (made->mask.empty())
      return "any";
    std::string text;
    for (int token = 0; token < 27; ++token)
      if ((made->mask[0] >> token) & 1)
        text += token == 26 ? '.' : static_cast<char>('a' + token);
    return text;
  }

  std::promise<void> asked; ///< set when the vocabulary is asked for
  std::promise<void> askedAgain;
  std::promise<void> gate; ///< lets the vocabulary be made, if it is held back
  bool held = false;
  int asks = 0; ///< once for each grammar, until there is a vocabulary
  /// There is no vocabulary: the error tells the number of the call.
  bool counts = false;
  static constexpr int64_t requests = 4;
  /// Called whenever a mask has been made, on the thread that made it. Must not
  /// be set while masks are made.
  std::function<void()> whenMade;
  EpochBoard board{requests};
  std::optional<CachePages> pages;
  std::optional<Stage> stage;
  GrammarMasks masks;
};

/// Every mask takes longer than the quick thread may spend on it.
class SlowMasksTest : public GrammarMasksTest {
protected:
  SlowMasksTest(size_t slowSteps = size_t{1} << 20)
      : GrammarMasksTest({.quickSteps = 1, .slowSteps = slowSteps}) {}
};

class RefusedMasksTest : public SlowMasksTest {
protected:
  RefusedMasksTest() : SlowMasksTest(1) {}
};

/// All logits are equal, so the first allowed token is chosen.
class EvenLogits final : public StepCompute {
public:
  bool receives() const override { return false; }
  Status execute(const device::StepInput &) override { return {}; }
  std::span<const float> logits(int64_t) const override { return all; }

private:
  const std::vector<float> all = std::vector<float>(27, 0.0f);
};

TEST_F(GrammarMasksTest, EachPathOfGuessesHasItsOwn) {
  // ab | ac+d
  StepFrame open = opening(0, {gbnf, "root ::= \"ab\" | \"a\" \"c\"+ \"d\""});
  step(std::move(open), [&] { EXPECT_EQ(after(0), "a"); });
  StepFrame tree;
  tree.rows = {row(0, 1, 0, 1, 0, true),   // a
               row(0, 2, 1, 2, 1, false),  // ab
               row(0, 3, 1, 2, 2, false),  // ac
               row(0, 4, 3, 3, 3, false),  // acd
               row(0, 5, 1, 2, 9, false)}; // aj: cannot come true
  step(std::move(tree), [&] {
    EXPECT_EQ(after(1), "bc");
    EXPECT_EQ(after(2), ".");
    EXPECT_EQ(after(3), "cd");
    EXPECT_EQ(after(4), ".");
    EXPECT_EQ(after(5), "any");
  });
}

/// The grammar is made while a prompt is computed, and steps of other requests
/// do not wait.
TEST_F(GrammarMasksTest, AGrammarIsBegunWithItsRequest) {
  held = true;
  step(prompt(0, "b"), [&] {
    EXPECT_EQ(asked.get_future().wait_for(std::chrono::seconds(60)),
              std::future_status::ready);
  });
  step(opening(1, {}), [&] { EXPECT_EQ(after(0, 1), "any"); });
  gate.set_value();
  StepFrame rest;
  rest.rows = {row(0, 1, 0, 1, 25, true)};
  step(std::move(rest), [&] { EXPECT_EQ(after(1), "b"); });
}

/// A living request does not wait for the grammar of one that has left.
TEST_F(GrammarMasksTest, ARequestThatLeavesTakesItsGrammarAlong) {
  held = counts = true;
  step(prompt(0, "first"), [&] { asked.get_future().wait(); });
  step(prompt(1, "left"), [] {});
  StepFrame close;
  close.closes.push_back(1);
  step(std::move(close), [] {});
  step(prompt(2, "wanted"), [] {});
  gate.set_value();
  askedAgain.get_future().wait(); // by the next grammar, which no row wants yet
  StepFrame rest;
  rest.rows = {row(2, 1, 0, 1, 25, true)};
  step(std::move(rest), [&] { EXPECT_EQ(after(1, 2), "grammar: 2"); });
}

/// The same for a whole step of a stage.
TEST_F(GrammarMasksTest, AStepsOutputLetsGoOfClosedRequests) {
  held = counts = true;
  std::string error;
  ResultOutput output(
      "stage", 27, 16, 3, [this] { return vocabulary(); },
      [&](const ResultFrame &frame) {
        for (const ResultRow &result : frame.results)
          error = result.error;
        return Status();
      });
  ASSERT_TRUE(output.start({}).ok());
  auto run = [&](StepFrame frame) {
    ASSERT_TRUE(stage->enqueue(std::move(frame)));
    Expected<bool> formed = stage->formStep();
    ASSERT_TRUE(formed && *formed);
    output.begin(*stage);
    ASSERT_TRUE(output.collect(*stage, NoCompute()).ok());
    StepFrame out;
    stage->finishStep(out);
    ASSERT_TRUE(output.send(out).ok());
  };
  run(prompt(0, "first"));
  asked.get_future().wait();
  run(prompt(1, "left"));
  StepFrame close;
  close.closes.push_back(1);
  run(std::move(close));
  run(prompt(2, "wanted"));
  gate.set_value();
  askedAgain.get_future().wait();
  StepFrame rest;
  rest.rows = {row(2, 1, 0, 1, 25, true)};
  run(std::move(rest));
  ASSERT_TRUE(output.finish().ok());
  EXPECT_EQ(error, "stage: grammar: 2");
}

/// Steps go on while a grammar is not made, and its request is answered later.
TEST_F(GrammarMasksTest, AnAnswerThatIsLateHoldsUpNobody) {
  held = true;
  std::vector<ResultFrame> frames;
  std::counting_semaphore<> woken{0};
  ResultOutput output(
      "stage", 27, 16, 3, [this] { return vocabulary(); },
      [&](const ResultFrame &frame) {
        frames.push_back(frame);
        return Status();
      });
  ASSERT_TRUE(output.start([&] { woken.release(); }).ok());
  auto run = [&](StepFrame frame) {
    ASSERT_TRUE(stage->enqueue(std::move(frame)));
    Expected<bool> formed = stage->formStep();
    ASSERT_TRUE(formed && *formed);
    output.begin(*stage);
    ASSERT_TRUE(output.collect(*stage, EvenLogits()).ok());
    StepFrame out;
    stage->finishStep(out);
    out.timings.emplace_back();
    ASSERT_TRUE(output.send(out).ok());
    ASSERT_TRUE(output.sendLate().ok());
  };
  StepFrame both = opening(0, {gbnf, "root ::= \"cd\""});
  StepFrame free = opening(1, {});
  both.opens.push_back(free.opens[0]);
  both.rows.push_back(free.rows[0]);
  run(std::move(both));
  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].results.size(), 1u);
  EXPECT_EQ(frames[0].results[0].request, 1);
  // A guess after the row is not answered before the row.
  StepFrame guess;
  guess.rows = {row(0, 1, 0, 1, 2, false), row(1, 1, 0, 1, 0, true)};
  run(std::move(guess));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].results.size(), 1u);
  gate.set_value();
  while (frames.size() < 3 || frames.back().results.back().node != 1) {
    ASSERT_TRUE(woken.try_acquire_for(std::chrono::seconds(60)));
    ASSERT_TRUE(output.sendLate().ok());
  }
  std::vector<ResultRow> late;
  for (size_t i = 2; i < frames.size(); ++i) {
    EXPECT_TRUE(frames[i].isLate());
    late.insert(late.end(), frames[i].results.begin(), frames[i].results.end());
  }
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].node, 0);
  EXPECT_EQ(late[0].token, 2);
  EXPECT_EQ(late[1].node, 1);
  EXPECT_EQ(late[1].token, 3);
}

TEST_F(SlowMasksTest, AreTheSame) {
  StepFrame open = opening(0, {gbnf, "root ::= \"ab\" | \"a\" \"c\"+ \"d\""});
  step(std::move(open), [&] { EXPECT_EQ(after(0), "a"); });
  StepFrame next;
  next.rows = {row(0, 1, 0, 1, 0, true), row(0, 2, 1, 2, 2, false)};
  step(std::move(next), [&] {
    EXPECT_EQ(after(1), "bc");
    EXPECT_EQ(after(2), "cd");
  });
}

TEST_F(RefusedMasksTest, EndTheirRequestAlone) {
  step(opening(0, {gbnf, "root ::= \"ab\""}), [&] {
    EXPECT_EQ(after(0), "grammar: its masks have taken more than 1 steps");
  });
  step(opening(1, {}), [&] { EXPECT_EQ(after(0, 1), "any"); });
}

/// The slow thread spends as much on a tenant with one request as on one with
/// two.
TEST_F(SlowMasksTest, TenantsHaveEqualShares) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<RowMask>> ofOne, ofTwo;
  bool isOpen = true;
  int64_t calls = 0, ofOneBefore = 0;
  constexpr NodeId last = 4;
  auto madeOf = [&](const std::vector<std::shared_ptr<RowMask>> &all) {
    return std::ranges::count_if(
        all, [&](const auto &mask) { return masks.isMade(*mask); });
  };
  // Nothing goes on after the slow thread's first mask until the gate opens.
  whenMade = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] {
      return isOpen || (!ofOne.empty() && madeOf(ofOne) + madeOf(ofTwo) == 0);
    });
    if (madeOf(ofTwo) < last)
      ofOneBefore = madeOf(ofOne);
    ++calls;
    changed.notify_all();
  };
  // A mask can be read before its call has begun.
  auto waitForCalls = [&](int64_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return calls == count; });
  };

  StepFrame begin;
  for (RequestId id : {0, 1, 2, 3}) {
    StepFrame one = opening(
        id, {gbnf, id == 3 ? "root ::= nothing" : "root ::= [a-z]{0,50}"});
    one.opens[0].grammar.scope = uint64_t(id); // no masks in common
    one.opens[0].tenant = id == 2 ? 2 : 1;
    begin.opens.push_back(one.opens[0]);
    begin.rows.push_back(one.rows[0]);
  }
  const int64_t before = std::ssize(begin.rows);
  step(std::move(begin), [&] { waitForCalls(before); });
  isOpen = false;

  StepFrame next;
  for (NodeId node = 1; node <= last; ++node)
    for (RequestId id : {0, 1, 2})
      next.rows.push_back(row(id, node, node - 1, int32_t(node), 0, node == 1));
  next.rows.push_back(row(3, 1, 0, 1, 0, true));
  const int64_t rows = std::ssize(next.rows);
  step(std::move(next), [&] {
    {
      std::lock_guard lock(mutex);
      for (NodeId node = 1; node <= last; ++node)
        for (RequestId id : {0, 1, 2}) {
          Row wanted;
          wanted.node = node;
          wanted.request = id;
          (id == 2 ? ofTwo : ofOne).push_back(masks.maskOf(wanted));
        }
    }
    changed.notify_all();
    // The quick thread gets to the row with an error once it has left the
    // others to the slow one.
    EXPECT_NE(after(1, 3).find("nothing"), std::string::npos);
    {
      std::lock_guard lock(mutex);
      isOpen = true;
    }
    changed.notify_all();
    waitForCalls(before + rows);
  });
  EXPECT_GE(ofOneBefore, 2);
  EXPECT_LE(ofOneBefore, 5);
}

/// A prompt with many rows left does not need its grammar yet.
TEST_F(GrammarMasksTest, AGrammarThatARowWaitsForComesFirst) {
  held = counts = true;
  step(prompt(0, "first"), [&] { asked.get_future().wait(); });
  step(prompt(1, "early"), [] {});
  step(opening(2, {gbnf, "root ::= \"due\""}), [&] {
    gate.set_value();
    EXPECT_EQ(after(0, 2), "grammar: 2");
  });
  StepFrame rest;
  rest.rows = {row(1, 1, 0, 1, 25, true)};
  step(std::move(rest), [&] { EXPECT_EQ(after(1, 1), "grammar: 3"); });
}

TEST_F(GrammarMasksTest, RequestsWithoutAGrammarAreFree) {
  StepFrame open = opening(0, {});
  step(std::move(open), [&] { EXPECT_EQ(after(0), "any"); });
}

TEST_F(GrammarMasksTest, ASlotsNextRequestHasItsOwn) {
  step(opening(0, {gbnf, "root ::= \"x\""}), [&] { EXPECT_EQ(after(0), "x"); });
  StepFrame close;
  close.closes.push_back(0);
  step(std::move(close), [] {});
  step(opening(0, {gbnf, "root ::= \"y\""}, 7),
       [&] { EXPECT_EQ(after(7), "y"); });
}

/// A request that continues after a preemption: its text so far is known at
/// once.
TEST_F(GrammarMasksTest, GoesOnBehindWhatWasGenerated) {
  StepFrame frame = opening(0, {gbnf, "root ::= \"abc\""});
  frame.opens[0].knownTokens = 3;
  frame.rows[0].wantsOutput = false;
  frame.rows.push_back(row(0, 1, 0, 1, 0, true));
  frame.rows.back().wantsOutput = false;
  frame.rows.push_back(row(0, 2, 1, 2, 1, true));
  step(std::move(frame), [&] { EXPECT_EQ(after(2), "c"); });
}

TEST_F(GrammarMasksTest, AGrammarThatCannotBeUsedIsTheRequestsError) {
  step(opening(0, {gbnf, "root ::= nothing"}),
       [&] { EXPECT_NE(after(0).find("nothing"), std::string::npos); });
  step(opening(1, {gbnf, "root ::= \"!\""}), [&] {
    EXPECT_NE(after(0, 1).find("no token"), std::string::npos) << after(0, 1);
  });
}

TEST_F(GrammarMasksTest, SchemasAndObjects) {
  WorkMeter meter({});
  Expected<grammar::Grammar> schema = compileGrammar(
      {GrammarSource::Kind::JsonSchema, R"({"type":"integer"})"}, meter);
  EXPECT_TRUE(schema);
  EXPECT_FALSE(compileGrammar({GrammarSource::Kind::JsonSchema, "{"}, meter));
  EXPECT_TRUE(compileGrammar({GrammarSource::Kind::JsonObject, ""}, meter));
}

} // namespace
