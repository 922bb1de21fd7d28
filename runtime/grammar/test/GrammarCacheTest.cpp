//===- GrammarCacheTest.cpp - tests of the cache of grammars --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCache.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/test/TestGrammars.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

TEST(GrammarCacheTest, MakesAGrammarOnce) {
  GrammarCache cache(1 << 20);
  Expected<Grammar> first = cache.fromJsonSchema(R"({"const": 1})");
  Expected<Grammar> again = cache.fromJsonSchema(R"({"const": 1})");
  ASSERT_TRUE(first && again);
  EXPECT_EQ(&first->tables(), &again->tables());
  EXPECT_TRUE(matches(*again, "1"));
  // The same text in the other form is another grammar, or none.
  EXPECT_FALSE(cache.fromGbnf(R"({"const": 1})"));
  EXPECT_EQ(cache.fromJsonSchema("{").status().message(),
            "the schema is not JSON");
}

TEST(GrammarCacheTest, ScopesShareNothing) {
  GrammarCache cache(1 << 20);
  WorkMeter meter(maxGrammarWork);
  const std::string text = "root ::= \"a\"";
  Expected<Grammar> one = cache.fromGbnf(text, meter, 1);
  Expected<Grammar> other = cache.fromGbnf(text, meter, 2);
  Expected<Grammar> again = cache.fromGbnf(text, meter, 1);
  ASSERT_TRUE(one && other && again);
  EXPECT_NE(&one->tables(), &other->tables());
  EXPECT_EQ(&one->tables(), &again->tables());
  EXPECT_EQ(cache.size(), 2u);
}

TEST(GrammarCacheTest, KeepsWhatWasUsedLast) {
  GrammarCache cache(1 << 20);
  auto make = [&](int number) {
    std::string text = "root ::= \"" + std::to_string(number) + "\"";
    Expected<Grammar> made = cache.fromGbnf(text);
    EXPECT_TRUE(made);
    return *made;
  };
  Grammar kept = make(0);
  size_t each = cache.bytes();
  ASSERT_GT(each, 0u);
  for (int number = 1; size_t(number) * each < (8u << 20); ++number) {
    make(number);
    EXPECT_EQ(&make(0).tables(), &kept.tables());
    EXPECT_LE(cache.bytes(), size_t(1) << 20);
  }
  // A grammar that exceeds the whole room is made, but not kept.
  GrammarCache small(1);
  EXPECT_TRUE(small.fromGbnf("root ::= \"a\""));
  EXPECT_EQ(small.bytes(), 0u);
  EXPECT_EQ(small.size(), 0u);
}

/// High bounds of irregular lengths add ranges of counts, but no states.
TEST(GrammarCacheTest, CountsWhatCountedRulesHold) {
  auto make = [](const std::string &length, Grammar &grammar) {
    GrammarCache cache(size_t(1) << 30);
    Expected<Grammar> made =
        cache.fromJsonSchema(R"({"pattern": "^(aaa)*$", "minLength": )" +
                             length + R"(, "maxLength": )" + length + "}");
    EXPECT_TRUE(made) << made.status().message();
    if (made)
      grammar = *made;
    return cache.bytes();
  };
  Grammar low = gbnf("root ::= \"\""), high = low;
  size_t lowBytes = make("3000", low), highBytes = make("9000", high);
  const GrammarTables &few = low.tables(), &many = high.tables();
  ASSERT_EQ(few.states.size(), many.states.size());
  size_t ranges = many.countRanges.size() - few.countRanges.size();
  size_t bounds = many.countBounds.size() - few.countBounds.size();
  EXPECT_GE(ranges, 2000u);
  EXPECT_GE(bounds, 2000u);
  EXPECT_EQ(highBytes - lowBytes, ranges * sizeof(many.countRanges[0]) +
                                      bounds * sizeof(many.countBounds[0]));
}

/// Otherwise very many small grammars would fit into the bytes.
TEST(GrammarCacheTest, KeepsSoManyAtMost) {
  GrammarCache cache(size_t(1) << 30, 8);
  auto make = [&](int number) {
    Expected<Grammar> made =
        cache.fromJsonSchema("{\"const\": " + std::to_string(number) + "}");
    EXPECT_TRUE(made);
    return *made;
  };
  std::vector<Grammar> made;
  for (int number = 0; number < 20; ++number) {
    made.push_back(make(number));
    EXPECT_EQ(cache.size(), std::min<size_t>(made.size(), 8));
  }
  for (int number = 12; number < 20; ++number)
    EXPECT_EQ(&make(number).tables(), &made[size_t(number)].tables());
  EXPECT_NE(&make(11).tables(), &made[11].tables());
}

/// The bytes of schemas are limited, and so is what is made of them.
TEST(GrammarCacheTest, SchemasHaveSoManyMembersAtMost) {
  GrammarCache cache(1 << 20);
  auto errorOf = [&](int objects, int members) {
    std::string text = "{\"$defs\": [";
    for (int object = 0; object < objects; ++object) {
      text += object == 0 ? "{" : ",{";
      for (int i = 0; i < members; ++i)
        text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
      text += "}";
    }
    return cache.fromJsonSchema(text + "]}").status().message();
  };
  // One more value is the list itself.
  EXPECT_EQ(errorOf(1, 16383), "");
  EXPECT_EQ(errorOf(2, 8191), "");
  const char *tooMany = "JSON schema: more than 16384 members";
  EXPECT_EQ(errorOf(1, 16384), tooMany);
  EXPECT_EQ(errorOf(2, 8192), tooMany);
  EXPECT_EQ(errorOf(1, 90000), tooMany);
  EXPECT_EQ(cache.fromJsonSchema(std::string(200, '[')).status().message(),
            "JSON schema: values lie in more than 128 others");
}

/// A cached grammar is returned without charging the meter.
TEST(GrammarCacheTest, OnlyMakingChargesTheMeter) {
  GrammarCache cache(1 << 20);
  WorkMeter late({.time = std::chrono::seconds(0)}), later = late;
  EXPECT_EQ(cache.fromJsonSchema("{}", late).status().message(),
            "JSON schema: it takes more than 0 s");
  EXPECT_EQ(cache.fromGbnf("root ::= \"a\"", later).status().message(),
            "grammar: it takes more than 0 s");
  EXPECT_TRUE(cache.fromJsonSchema("{}"));
  EXPECT_TRUE(cache.fromJsonSchema("{}", late));
}

/// A refusal is cached if the same text would always be refused.
TEST(GrammarCacheTest, RemembersRefusals) {
  GrammarCache cache(1 << 20);
  const std::string wrong = "root ::= nothing", large = "root ::= \"abc\"";
  EXPECT_FALSE(cache.fromGbnf(wrong));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_FALSE(cache.fromGbnf(wrong));
  EXPECT_EQ(cache.size(), 1u);
  WorkMeter busy({.time = std::chrono::seconds(0)});
  EXPECT_FALSE(cache.fromGbnf(large, busy));
  WorkMeter unwanted({}, [] { return true; });
  EXPECT_FALSE(cache.fromGbnf(large, unwanted));
  WorkMeter spent({.steps = 10});
  EXPECT_TRUE(spent.charge(10));
  // Refused because of the work before it.
  EXPECT_FALSE(cache.fromGbnf(large, spent));
  EXPECT_EQ(cache.size(), 1u);
  WorkMeter small({.steps = 10});
  EXPECT_FALSE(cache.fromGbnf(large, small));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.fromGbnf(large).status().message(),
            "grammar: it takes more than 10 steps");
}

} // namespace
