//===- GrammarAttackTest.cpp - tests of the cost of hostile grammars ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short grammars and schemas that ask for very much. Each must end within the
// steps and bytes of its meter. A loop that does not charge the meter shows as
// a test that does not end.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/schema/SchemaDocument.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// The result of some work.
struct Outcome {
  std::string error; ///< empty if there is a grammar
  size_t steps = 0;
  size_t peakBytes = 0;
};

Outcome outcomeOf(const Status &status, const WorkMeter &meter) {
  EXPECT_EQ(meter.heldBytes(), 0u);
  return {status.message(), meter.steps(), meter.peakBytes()};
}

Outcome compileGbnf(std::string_view text) {
  WorkMeter meter(untimedGrammarWork);
  Status status = Grammar::fromGbnf(text, meter).status();
  return outcomeOf(status, meter);
}

Outcome compileSchema(const std::string &text) {
  WorkMeter meter(untimedGrammarWork);
  Expected<text::JsonTree> schema = readSchema(text);
  EXPECT_TRUE(schema) << schema.status().message();
  if (!schema)
    return {schema.status().message()};
  Status status = Grammar::fromJsonSchema(schema->root(), meter).status();
  return outcomeOf(status, meter);
}

void expectBounded(const Outcome &outcome) {
  // The last charge and the last allocation may exceed the limits.
  EXPECT_LE(outcome.steps, 2 * maxGrammarWork.steps);
  EXPECT_LE(outcome.peakBytes, 2 * maxGrammarWork.bytes);
}

/// Returns write(0), write(1), ... for `count` numbers, separated by commas.
std::string listOf(int count, const std::function<std::string(int)> &write) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + write(i);
  return text;
}

TEST(GrammarAttackTest, RepetitionsWithinRepetitions) {
  Outcome outcome =
      compileGbnf("root ::= (((\"a\"{0,100}){0,100}){0,100}){0,100}");
  expectBounded(outcome);
  EXPECT_NE(outcome.error, "");
  // The innermost repetition is a rule that all 256 copies share.
  Grammar grammar =
      gbnf("root ::= ((\"a\"{0,100} \"b\" | \"c\" rest){0,16}){0,16}\n"
           "rest ::= \"d\" rest | \"e\"");
  EXPECT_LE(grammar.tables().rules.size(), 4u);
  for (int depth : {10, 60, 120}) {
    std::string nested = "[ab]";
    for (int i = 0; i < depth; ++i)
      nested = "(" + nested + "){17}";
    expectBounded(compileGbnf("root ::= " + nested));
  }
}

TEST(GrammarAttackTest, ManyRules) {
  // Each rule is named on a line that must be known for messages.
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 60000; ++i)
    text += "r" + std::to_string(i) + " ::= \"a\"\n";
  Outcome outcome = compileGbnf(text);
  EXPECT_EQ(outcome.error, "");
  EXPECT_LE(outcome.steps, 16 * text.size());
}

TEST(GrammarAttackTest, AutomataThatDouble) {
  expectBounded(compileGbnf("root ::= [ab]* \"a\" [ab]{15} [ab]{15}"));
  expectBounded(compileGbnf("root ::= [ab]* \"a\" [ab]{12} [ab]{6}"));
  expectBounded(compileSchema(
      R"({"pattern": "^.*a.{15}$", "type": "string", "minLength": 1000000,
          "maxLength": 2000000})"));
}

TEST(GrammarAttackTest, NamesAgainstPatterns) {
  std::string properties =
      listOf(8000, [](int i) { return "\"n" + std::to_string(i) + "\":{}"; });
  std::string patterns =
      listOf(8000, [](int i) { return "\"^n" + std::to_string(i) + "\":{}"; });
  Outcome outcome =
      compileSchema("{\"properties\": {" + properties +
                    "}, \"patternProperties\": {" + patterns + "}}");
  expectBounded(outcome);
  EXPECT_NE(outcome.error, "");
}

TEST(GrammarAttackTest, ComparedValues) {
  auto object = [](bool forward) {
    return "{" +
           listOf(4000,
                  [=](int i) {
                    return "\"m" + std::to_string(forward ? i : 3999 - i) +
                           "\":1";
                  }) +
           "}";
  };
  Outcome outcome = compileSchema("{\"allOf\": [{\"enum\": [" + object(true) +
                                  "]}, {\"enum\": [" + object(false) + "]}]}");
  EXPECT_EQ(outcome.error, "");
  EXPECT_GE(outcome.steps, 4000u * 4000u); // each member is searched linearly
  std::string values = listOf(16000, [](int i) { return std::to_string(i); });
  outcome = compileSchema("{\"allOf\": [{\"enum\": [" + values +
                          "]}, {\"enum\": [" + values + "]}]}");
  expectBounded(outcome);
  EXPECT_NE(outcome.error, "");
}

TEST(GrammarAttackTest, ReferencesThroughWideObjects) {
  std::string wide =
      listOf(8000, [](int i) { return "\"w" + std::to_string(i) + "\":{}"; });
  std::string references = listOf(8000, [](int i) {
    return "\"r" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/w" +
           std::to_string(i) + "\"}";
  });
  expectBounded(compileSchema("{\"properties\": {" + references +
                              "}, \"$defs\": {" + wide + "}}"));
}

TEST(GrammarAttackTest, LongPointers) {
  // Each of many schemas is within as many others as allowed.
  const std::string name(64, 'n');
  std::string schema =
      "{\"properties\":{" +
      listOf(800,
             [](int i) {
               return "\"" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/t\"}";
             }) +
      "}}";
  for (int i = 0; i < 60; ++i)
    schema = "{\"properties\":{\"" + name + "\":" + schema + "}}";
  schema.insert(1, "\"$defs\":{\"t\":{\"type\":\"null\"}},");
  Outcome outcome = compileSchema(schema);
  expectBounded(outcome);
  EXPECT_EQ(outcome.error, "");
}

TEST(GrammarAttackTest, ManySteps) {
  std::string multiples = listOf(200, [](int) {
    return std::string("{\"type\":\"number\",\"multipleOf\":"
                       "0.00000000000000009999}");
  });
  Outcome outcome = compileSchema("{\"anyOf\": [" + multiples + "]}");
  expectBounded(outcome);
  EXPECT_NE(outcome.error, "");
}

/// Each rule is two of the next rule, so a text can be read in very many ways.
std::string doublingRules(int count) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < count; ++i) {
    const std::string next = "r" + std::to_string(i + 1);
    text +=
        "r" + std::to_string(i) + " ::= " + next + " " + next + " | \"b\"\n";
  }
  return text + "r" + std::to_string(count) + " ::= \"a\"";
}

TEST(GrammarAttackTest, MasksOfRulesThatDouble) {
  // Tokens of up to 12 letters, each of which must be followed.
  std::vector<std::string> tokens;
  for (int bits = 0; bits < 4096; ++bits) {
    std::string &token = tokens.emplace_back();
    for (int i = 0; i < 12; ++i)
      token += (bits >> i & 1) ? 'a' : 'b';
  }
  for (int count : {8, 20, 24}) {
    auto grammar = std::make_shared<const TokenGrammar>(
        gbnf(doublingRules(count)), makeTrie(tokens));
    GrammarState state(grammar);
    std::vector<uint64_t> mask(grammar->maskWords());
    WorkMeter meter({.steps = maxMaskSteps});
    Status status = state.fillMask(mask, meter);
    EXPECT_LE(meter.steps(), 2 * maxMaskSteps);
    // A small meter is distinguished from a grammar that is too ambiguous.
    WorkMeter little({.steps = 1000});
    GrammarState other(std::make_shared<const TokenGrammar>(
        gbnf(doublingRules(count)), makeTrie(tokens)));
    EXPECT_FALSE(other.fillMask(mask, little).ok());
    EXPECT_EQ(little.end(), WorkMeter::End::Steps);
    EXPECT_LE(little.steps(), 20'000u);
  }
}

/// Wherever the work is made to end, nothing is read that has not been made.
TEST(GrammarAttackTest, TheWorkCanEndAnywhere) {
  std::string text = "root ::= r0\n";
  for (int n = 0; n < 50; ++n)
    text += "r" + std::to_string(n) + " ::= \"a\" [b-d]{0,9} r" +
            std::to_string((n * 7 + 1) % 50) + "?\n";
  WorkMeter all(maxGrammarWork);
  ASSERT_TRUE(Grammar::fromGbnf(text, all));
  for (size_t percent = 0; percent < 100; ++percent) {
    WorkMeter bytes({.bytes = all.peakBytes() * percent / 100});
    WorkMeter steps({.steps = all.steps() * percent / 100});
    EXPECT_FALSE(Grammar::fromGbnf(text, bytes)) << percent;
    EXPECT_FALSE(Grammar::fromGbnf(text, steps)) << percent;
  }
}

} // namespace
