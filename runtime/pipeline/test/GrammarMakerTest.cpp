//===- GrammarMakerTest.cpp - compiles the grammars of requests -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMaker.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

constexpr auto gbnf = GrammarSource::Kind::Gbnf;

/// Token 0 is "a"; token 1 ends the text.
Expected<std::shared_ptr<const grammar::TokenTrie>> oneLetter() {
  Expected<grammar::TokenTrie> made =
      grammar::TokenTrie::create({{"a", ""}}, {{1}});
  if (!made)
    return made.status();
  return std::shared_ptr<const grammar::TokenTrie>(
      std::make_shared<const grammar::TokenTrie>(made.take()));
}

TEST(GrammarMakerTest, MakesAGrammarOnce) {
  int tries = 0;
  GrammarMaker maker([&] {
    ++tries;
    return oneLetter();
  });
  ASSERT_TRUE(maker.start().ok());
  auto first = maker.make({gbnf, "root ::= \"a\""}, 1);
  auto other = maker.make({gbnf, "root ::= \"aa\""}, 1);
  auto again = maker.make({gbnf, "root ::= \"a\""}, 1);
  ASSERT_TRUE(first->get() && other->get());
  EXPECT_EQ(*first->get(), *again->get());
  EXPECT_NE(*first->get(), *other->get());
  EXPECT_EQ(tries, 1);
  // Its first mask has been made already.
  EXPECT_GT((*first->get())->cachedBytes(), 0u);
}

TEST(GrammarMakerTest, ErrorsAreOfWhoGetsIt) {
  GrammarMaker maker(oneLetter);
  ASSERT_TRUE(maker.start().ok());
  auto made = maker.make({gbnf, "root ::= nothing"}, 1);
  EXPECT_NE(made->get().status().message().find("nothing"), std::string::npos);
  GrammarMaker without([]() -> decltype(oneLetter()) {
    return failure("the model has no tokenizer");
  });
  ASSERT_TRUE(without.start().ok());
  EXPECT_EQ(without.make({gbnf, "root ::= \"a\""}, 1)->get().status().message(),
            "grammar: the model has no tokenizer");
}

/// Memory that runs out for a moment is the end of one request.
TEST(GrammarMakerTest, ForgetsThatMemoryRanOut) {
  std::atomic<int> tries{0};
  std::promise<void> again;
  GrammarMaker maker(
      [&] {
        if (++tries == 1)
          throw std::bad_alloc();
        return oneLetter();
      },
      // The next request comes while the maker still publishes the error.
      [&] {
        if (tries == 1)
          again.get_future().wait();
      });
  ASSERT_TRUE(maker.start().ok());
  const GrammarSource source = {gbnf, "root ::= \"a\""};
  EXPECT_FALSE(maker.make(source, 1)->get());
  auto second = maker.make(source, 1);
  again.set_value();
  EXPECT_TRUE(second->get());
  EXPECT_EQ(tries, 2);
}

/// Records the order in which grammars are made, once the first one may be
/// made.
class GrammarMakerOrderTest : public testing::Test {
protected:
  GrammarMakerOrderTest() { EXPECT_TRUE(maker.start().ok()); }
  std::shared_ptr<WantedGrammar> make(const std::string &text,
                                      TenantNumber tenant = 1) {
    return maker.make({gbnf, "root ::= \"" + text + "\""}, tenant);
  }
  static std::string turn(const std::shared_ptr<WantedGrammar> &wanted) {
    return wanted->get().status().message();
  }
  /// Starts to make a grammar, which is finished by open().
  std::shared_ptr<WantedGrammar> makeFirst() {
    auto first = make("first");
    begun.get_future().wait();
    return first;
  }
  void open() { gate.set_value(); }

  std::promise<void> begun, gate;
  int turns = 0;
  GrammarMaker maker{[this]() -> decltype(oneLetter()) {
    if (++turns == 1) {
      begun.set_value();
      gate.get_future().wait();
    }
    return failure(turns);
  }};
};

TEST_F(GrammarMakerOrderTest, WhatNobodyWantsAnyMoreIsNotMade) {
  auto first = makeFirst();
  auto withdrawn = make("left"), wanted = make("wanted");
  for (int i = 0; i < 100; ++i)
    withdrawn = make("left " + std::to_string(i));
  withdrawn.reset();
  open();
  EXPECT_EQ(turn(first), "grammar: 1");
  EXPECT_EQ(turn(wanted), "grammar: 2");
}

TEST_F(GrammarMakerOrderTest, TwoWhoWantTheSameShareIt) {
  auto first = makeFirst(), same = make("first");
  EXPECT_EQ(first, same);
  auto other = make("other"), wanted = make("wanted");
  other = make("wanted");
  EXPECT_EQ(other, wanted);
  wanted.reset(); // the other holder still wants it
  open();
  EXPECT_EQ(turn(other), "grammar: 2");
}

TEST_F(GrammarMakerOrderTest, UrgentOnesComeFirst) {
  auto first = makeFirst();
  auto early = make("early"), late = make("late"), last = make("last");
  maker.hurry(*late);
  maker.hurry(*last);
  open();
  EXPECT_EQ(turn(first), "grammar: 1");
  EXPECT_EQ(turn(late), "grammar: 2");
  EXPECT_EQ(turn(last), "grammar: 3");
  EXPECT_EQ(turn(early), "grammar: 4");
}

TEST_F(GrammarMakerOrderTest, OtherTenantsNeedNotWaitForAllOfOne) {
  auto first = makeFirst();
  std::vector<std::shared_ptr<WantedGrammar>> many;
  for (int i = 0; i < 10; ++i)
    many.push_back(make("one of many " + std::to_string(i)));
  auto other = make("another's", 2);
  open();
  // The first one has cost the first tenant something.
  EXPECT_EQ(turn(other), "grammar: 2");
}

TEST_F(GrammarMakerOrderTest, RequestsOfOtherScopesShareNothing) {
  auto first = makeFirst();
  GrammarSource source(gbnf, "root ::= \"same\"");
  auto one = maker.make(source, 1);
  source.scope = 7;
  auto other = maker.make(source, 2);
  EXPECT_NE(one, other);
  EXPECT_EQ(maker.make(source, 2), other);
  open();
  EXPECT_NE(turn(one), turn(other));
}

/// What is too long for the quick thread is left to the slow one, and the quick
/// one goes on.
TEST(GrammarMakerTest, LongGrammarsDelayNoQuickOnes) {
  std::atomic<int> made = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  GrammarMaker maker(oneLetter,
                     [&] {
                       std::unique_lock lock(mutex);
                       threads.insert(std::this_thread::get_id());
                       ++made;
                     },
                     {.quickTime = std::chrono::milliseconds(5)});
  ASSERT_TRUE(maker.start().ok());
  // Some hundred milliseconds of work.
  std::string rules;
  for (int n = 0; n < 40000; ++n)
    rules += "r" + std::to_string(n) + " ::= \"a\" \"b\"{0,9}\n";
  auto longOne = maker.make({gbnf, "root ::= r0\n" + rules}, 1);
  auto other = maker.make({gbnf, "root ::= \"a\""}, 1);
  EXPECT_TRUE(other->get());
  (void)longOne->get();
  while (made < 2)
    std::this_thread::yield();
  std::unique_lock lock(mutex);
  EXPECT_EQ(threads.size(), 2u) << "one thread has made both";
}

/// Whoever wants what another tenant has queued need not wait for that one's
/// turn.
TEST_F(GrammarMakerOrderTest, AQueuedGrammarHasTheTurnOfWhoeverHadLeast) {
  auto first = makeFirst();
  std::vector<std::shared_ptr<WantedGrammar>> many;
  for (int i = 0; i < 10; ++i)
    many.push_back(make("one of many " + std::to_string(i)));
  auto common = make("common");
  EXPECT_EQ(make("common", 2), common);
  open();
  EXPECT_EQ(turn(common), "grammar: 2");
}

/// Grammars are kept as long as they fit.
TEST(GrammarMakerTest, KeepsSoManyBytes) {
  constexpr size_t enoughForTwo = size_t{20} << 20;
  GrammarMaker maker(oneLetter, {}, {.keptBytes = enoughForTwo});
  ASSERT_TRUE(maker.start().ok());
  auto madeOf = [&](const std::string &text) {
    auto wanted = maker.make({gbnf, "root ::= \"" + text + "\""}, 1);
    return std::shared_ptr(*wanted->get());
  };
  std::weak_ptr<const grammar::TokenGrammar> first = madeOf("a");
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(madeOf("a"), first.lock());
  (void)madeOf("aa");
  (void)madeOf("aaa");
  (void)madeOf("aaaa"); // begins once the one before it is kept
  EXPECT_TRUE(first.expired());
}

/// A process compiles a source once: the check of a request makes its grammar
/// for the stage that answers the request.
TEST(GrammarMakerTest, CompilesASourceOnce) {
  for (GrammarSource source : {GrammarSource{gbnf, "root ::= \"made once\""},
                               GrammarSource{GrammarSource::Kind::JsonSchema,
                                             R"({"const": "made once"})"}}) {
    WorkMeter meter({});
    Expected<grammar::Grammar> first = compileGrammar(source, meter);
    Expected<grammar::Grammar> again = compileGrammar(source, meter);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(&first->tables(), &again->tables());
  }
}

} // namespace
