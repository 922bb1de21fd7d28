//===- GrammarCacheTest.cpp - grammars that were made lately --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCache.h"
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
  // One that is larger than all of the room is made, and not kept.
  GrammarCache small(1);
  EXPECT_TRUE(small.fromGbnf("root ::= \"a\""));
  EXPECT_EQ(small.bytes(), 0u);
}

} // namespace
