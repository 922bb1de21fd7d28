//===- GrammarMakerTest.cpp - makes grammars ready for use ----------------===//
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
  auto first = maker.make({gbnf, "root ::= \"a\""});
  auto other = maker.make({gbnf, "root ::= \"aa\""});
  auto again = maker.make({gbnf, "root ::= \"a\""});
  ASSERT_TRUE(first.get() && other.get());
  EXPECT_EQ(*first.get(), *again.get());
  EXPECT_NE(*first.get(), *other.get());
  EXPECT_EQ(tries, 1);
  // Its first mask is there already.
  EXPECT_GT((*first.get())->cachedBytes(), 0u);
}

TEST(GrammarMakerTest, ErrorsAreOfWhoGetsIt) {
  GrammarMaker maker(oneLetter);
  auto made = maker.make({gbnf, "root ::= nothing"});
  EXPECT_NE(made.get().status().message().find("nothing"), std::string::npos);
  GrammarMaker without([]() -> decltype(oneLetter()) {
    return failure("the model has no tokenizer");
  });
  EXPECT_EQ(without.make({gbnf, "root ::= \"a\""}).get().status().message(),
            "grammar: the model has no tokenizer");
}

/// Of one process: who checks a request makes its grammar for who answers it.
TEST(GrammarMakerTest, CompilesASourceOnce) {
  for (GrammarSource source : {GrammarSource{gbnf, "root ::= \"made once\""},
                               GrammarSource{GrammarSource::Kind::JsonSchema,
                                             R"({"const": "made once"})"}}) {
    Expected<grammar::Grammar> first = compileGrammar(source);
    Expected<grammar::Grammar> again = compileGrammar(source);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(&first->tables(), &again->tables());
  }
}

} // namespace
