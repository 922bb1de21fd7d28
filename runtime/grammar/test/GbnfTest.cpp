//===- GbnfTest.cpp - tests of llama.cpp's grammar format -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

std::string errorOf(std::string_view text) {
  WorkMeter meter(untimedGrammarWork);
  return Grammar::fromGbnf(text, meter).status().message();
}

/// Returns those of `texts` that the grammar matches.
std::vector<std::string> taken(std::string_view grammar,
                               const std::vector<std::string> &texts) {
  Grammar made = gbnf(grammar);
  std::vector<std::string> out;
  for (const std::string &text : texts)
    if (matches(made, text))
      out.push_back(text);
  return out;
}

using Texts = std::vector<std::string>;

TEST(GbnfTest, LiteralsAndAlternatives) {
  EXPECT_EQ(taken("root ::= \"yes\" | \"no\"", {"", "y", "yes", "no", "yesno"}),
            (Texts{"yes", "no"}));
  EXPECT_EQ(taken("root ::= \"a\" \"b\" | \"\"", {"", "a", "ab", "b"}),
            (Texts{"", "ab"}));
  EXPECT_EQ(taken("root ::= | \"x\"", {"", "x", "xx"}), (Texts{"", "x"}));
}

TEST(GbnfTest, Repetitions) {
  Texts texts{"", "a", "aa", "aaa", "aaaa", "aaaaa"};
  EXPECT_EQ(taken("root ::= \"a\"*", texts), texts);
  EXPECT_EQ(taken("root ::= \"a\"+", texts),
            (Texts{"a", "aa", "aaa", "aaaa", "aaaaa"}));
  EXPECT_EQ(taken("root ::= \"a\"?", texts), (Texts{"", "a"}));
  EXPECT_EQ(taken("root ::= \"a\"{3}", texts), (Texts{"aaa"}));
  EXPECT_EQ(taken("root ::= \"a\"{3,}", texts),
            (Texts{"aaa", "aaaa", "aaaaa"}));
  EXPECT_EQ(taken("root ::= \"a\"{2,4}", texts), (Texts{"aa", "aaa", "aaaa"}));
  EXPECT_EQ(taken("root ::= \"a\"{0,2}", texts), (Texts{"", "a", "aa"}));
  EXPECT_EQ(taken("root ::= \"a\"{0}", texts), (Texts{""}));
  EXPECT_EQ(taken("root ::= \"a\" { 2 , 3 }", texts), (Texts{"aa", "aaa"}));
  // A repetition applies to a whole literal, as to a group.
  EXPECT_EQ(taken("root ::= \"ab\"+", {"ab", "abb", "abab"}),
            (Texts{"ab", "abab"}));
  EXPECT_EQ(
      taken("root ::= (\"a\" | \"b\" \"c\"){2}", {"aa", "abc", "bcbc", "ab"}),
      (Texts{"aa", "abc", "bcbc"}));
  EXPECT_EQ(taken("root ::= (\"a\"+ \"b\"?)* \"c\"", {"c", "aabac", "bc"}),
            (Texts{"c", "aabac"}));
}

TEST(GbnfTest, LongRepetitionsAreCounted) {
  Grammar grammar = gbnf("root ::= \"<\" [a-z]{20,1000} \">\" [0-9]{100}");
  std::string digits(100, '7');
  for (size_t length : {19, 20, 21, 999, 1000, 1001}) {
    std::string text = "<" + std::string(length, 'x') + ">" + digits;
    EXPECT_EQ(matches(grammar, text), length >= 20 && length <= 1000) << length;
  }
  std::string word = "<" + std::string(20, 'x') + ">";
  EXPECT_FALSE(matches(grammar, word + std::string(99, '7')));
  EXPECT_EQ(match(grammar, word + std::string(101, '7')), Match::None);
  // A repetition without an upper bound, whose start may be empty.
  Grammar open = gbnf("root ::= ([a-c] | \"dd\"){30,} \".\"");
  EXPECT_FALSE(matches(open, std::string(29, 'a') + "."));
  EXPECT_TRUE(matches(open, std::string(29, 'a') + "dd."));
  EXPECT_TRUE(matches(open, std::string(5000, 'b') + "."));
  EXPECT_FALSE(matches(open, std::string(40, 'a') + "d."));
  Grammar none = gbnf("root ::= \"a\"{0,100} \"b\"");
  EXPECT_TRUE(matches(none, "b"));
  EXPECT_TRUE(matches(none, std::string(100, 'a') + "b"));
  EXPECT_FALSE(matches(none, std::string(101, 'a') + "b"));
}

TEST(GbnfTest, RepetitionsThatCannotBeCountedAreUnrolled) {
  // The text does not determine how often the body has been repeated.
  Grammar grammar = gbnf("root ::= (\"a\" | \"aa\"){20,30}");
  for (size_t length : {19, 20, 30, 60, 61})
    EXPECT_EQ(matches(grammar, std::string(length, 'a')),
              length >= 20 && length <= 60)
        << length;
  // The start of a body that begins with a loop must not count as a new
  // repetition.
  Grammar loop = gbnf("root ::= (\"a\"* \"b\"){20}");
  std::string turns;
  for (int i = 0; i < 19; ++i)
    turns += "aab";
  EXPECT_FALSE(matches(loop, turns));
  EXPECT_TRUE(matches(loop, turns + "b"));
  EXPECT_FALSE(matches(loop, turns + "bb"));
}

TEST(GbnfTest, CharacterClasses) {
  Texts texts{"a", "b", "c", "-", "]", "^", "\n", "é", "€", "😀", "ab"};
  EXPECT_EQ(taken("root ::= [ab]", texts), (Texts{"a", "b"}));
  EXPECT_EQ(taken("root ::= [^ab]", texts),
            (Texts{"c", "-", "]", "^", "\n", "é", "€", "😀"}));
  EXPECT_EQ(taken("root ::= [a-c]", texts), (Texts{"a", "b", "c"}));
  EXPECT_EQ(taken("root ::= [a-]", texts), (Texts{"a", "-"}));
  EXPECT_EQ(taken("root ::= [-a]", texts), (Texts{"a", "-"}));
  EXPECT_EQ(taken("root ::= [\\]^]", texts), (Texts{"]", "^"}));
  EXPECT_EQ(taken("root ::= [à-ÿ€]", texts), (Texts{"é", "€"}));
  EXPECT_EQ(taken("root ::= .", texts),
            (Texts{"a", "b", "c", "-", "]", "^", "\n", "é", "€", "😀"}));
}

TEST(GbnfTest, Escapes) {
  EXPECT_EQ(taken(R"(root ::= "\t\r\n\\\"\[\]\-\x41\u00e9\U0001F600")",
                  {"\t\r\n\\\"[]-Aé😀"})
                .size(),
            1u);
  EXPECT_EQ(taken(R"(root ::= [\x00-\x1F\u20AC])", {"\n", "€", "a"}),
            (Texts{"\n", "€"}));
}

TEST(GbnfTest, OnlyWholeCharactersMatch) {
  Grammar any = gbnf("root ::= .");
  EXPECT_EQ(match(any, "\xC3"), Match::Prefix);
  EXPECT_EQ(match(any, "\xC3\xA9"), Match::Whole);
  EXPECT_EQ(match(any, "\xA9"), Match::None);     // a byte from the middle
  EXPECT_EQ(match(any, "\xC0"), Match::None);     // overlong
  EXPECT_EQ(match(any, "\xE0\x80"), Match::None); // overlong
  EXPECT_EQ(match(any, "\xED\xA0"), Match::None); // a surrogate
  EXPECT_EQ(match(any, "\xF4\x8F\xBF\xBF"), Match::Whole);
  EXPECT_EQ(match(any, "\xF4\x90"), Match::None); // above U+10FFFF
}

TEST(GbnfTest, LayoutAndComments) {
  Grammar grammar = gbnf("# a comment\n"
                         "\n"
                         "root ::= # behind the name\n"
                         "  (\n"
                         "    \"a\"   # within a group lines go on\n"
                         "    b-2\n"
                         "  ) |\n"
                         "  \"c\"\r\n"
                         "b-2::=\"b\"|d_D\n"
                         "d_D ::= \"d\"");
  EXPECT_TRUE(matches(grammar, "ab"));
  EXPECT_TRUE(matches(grammar, "ad"));
  EXPECT_TRUE(matches(grammar, "c"));
  EXPECT_FALSE(matches(grammar, "b"));
}

TEST(GbnfTest, RecursionNests) {
  Grammar grammar = gbnf("root ::= \"(\" root \")\" | \"x\"");
  EXPECT_TRUE(matches(grammar, "x"));
  EXPECT_TRUE(matches(grammar, "((x))"));
  EXPECT_EQ(match(grammar, "((x)"), Match::Prefix);
  EXPECT_EQ(match(grammar, "(x))"), Match::None);
  std::string deep = std::string(10000, '(') + "x" + std::string(10000, ')');
  EXPECT_TRUE(matches(grammar, deep));
  // Beyond the limit of the stack, no further level is allowed.
  EXPECT_EQ(match(grammar, std::string(20000, '(')), Match::None);
}

TEST(GbnfTest, RecursionAtTheEndTakesNoStack) {
  Grammar grammar = gbnf("root ::= item root | \"\"\n"
                         "item ::= [a-z] tail\n"
                         "tail ::= [0-9] tail | \".\" | \",\" root \".\"");
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "a1.";
  EXPECT_TRUE(matches(grammar, text));
}

TEST(GbnfTest, RulesThatMatchNothingOrTheEmptyText) {
  Grammar grammar = gbnf("root ::= ws \"a\" ws \"b\" ws\n"
                         "ws ::= ([ \\t] ws)?");
  EXPECT_TRUE(matches(grammar, "ab"));
  EXPECT_TRUE(matches(grammar, "  a \tb  "));
  // A rule without an end is never begun.
  Grammar dead = gbnf("root ::= \"a\" | \"b\" for-ever\n"
                      "for-ever ::= \"c\" for-ever");
  EXPECT_TRUE(matches(dead, "a"));
  EXPECT_EQ(match(dead, "b"), Match::None);
  Grammar empty = gbnf("root ::= \"\" | \"b\" root-less\n"
                       "root-less ::= \"c\" root-less");
  EXPECT_TRUE(matches(empty, ""));
  EXPECT_EQ(match(empty, "b"), Match::None);
}

TEST(GbnfTest, AmbiguousGrammarsStayCheap) {
  // Each rule can start anew at every letter, and equal stacks are stored once.
  // The rules are too long to be inlined.
  Grammar grammar = gbnf("root ::= (word | other)*\n"
                         "word ::= [a-z]+ (\"!\" deep)? | \"WORD" +
                         std::string(40, 'W') +
                         "\"\n"
                         "other ::= [a-z]+ (\"?\" deep)? | \"OTHER" +
                         std::string(40, 'O') +
                         "\"\n"
                         "deep ::= \"(\" deep \")\" | \"-\" | \"DEEP" +
                         std::string(40, 'D') + "\"\n");
  std::string text = std::string(3000, 'x') + "!((-))abc?-";
  EXPECT_TRUE(matches(grammar, text));
  GrammarState state(std::make_shared<const TokenGrammar>(grammar, byteTrie()));
  for (char byte : text) {
    ASSERT_TRUE(state.advance(static_cast<uint8_t>(byte)));
    ASSERT_LT(state.readings(), 10u);
  }
}

TEST(GbnfTest, RefusesWhatIsNotGbnf) {
  EXPECT_EQ(errorOf(""), "grammar: there is no rule 'root' to start with");
  EXPECT_EQ(errorOf("start ::= \"a\""),
            "grammar: there is no rule 'root' to start with");
  EXPECT_EQ(errorOf("root ::= a\n\nb ::= \"x\""),
            "grammar, line 1: the rule 'a' is not defined");
  EXPECT_EQ(errorOf("root ::= \"a\"\nroot ::= \"b\""),
            "grammar, line 2: the rule 'root' is defined already, in line 1");
  EXPECT_EQ(errorOf("= \"a\""),
            "grammar, line 1: expected the name of a rule, not '='");
  EXPECT_EQ(errorOf("root = \"a\""),
            "grammar, line 1: expected '::=' behind 'root', not '='");
  EXPECT_EQ(errorOf("root ::= \"a"),
            "grammar, line 1: the text ends within a literal or a class");
  EXPECT_EQ(errorOf("root ::= [a"),
            "grammar, line 1: the text ends within a literal or a class");
  EXPECT_EQ(errorOf("root ::= (\"a\"\n"),
            "grammar, line 2: expected ')', not the end of the text");
  EXPECT_EQ(errorOf("root ::= \"a\")"),
            "grammar, line 1: expected the end of the rule, not ')'");
  EXPECT_EQ(errorOf("root ::= \"a\" é"),
            "grammar, line 1: expected the end of the rule, not 'é'");
  EXPECT_EQ(errorOf("\nroot ::= *"),
            "grammar, line 2: there is nothing that '*' could repeat");
  EXPECT_EQ(errorOf("root ::= \"a\"{"),
            "grammar, line 1: expected a number of repetitions, not the end of "
            "the text");
  EXPECT_EQ(errorOf("root ::= \"a\"{1;2}"),
            "grammar, line 1: expected '}', not ';'");
  EXPECT_EQ(errorOf("root ::= \"a\"{3,2}"),
            "grammar, line 1: a repetition of at least 3 and at most 2");
  EXPECT_EQ(errorOf("root ::= \"a\"{99999999}"),
            "grammar, line 1: more than 16777216 repetitions");
  EXPECT_EQ(errorOf("root ::= [z-a]"),
            "grammar, line 1: a range of characters that ends before it "
            "begins");
  EXPECT_EQ(errorOf("root ::= []"),
            "grammar, line 1: a character class without characters");
  EXPECT_EQ(errorOf("root ::= \"\\q\""),
            "grammar, line 1: there is no escape of a backslash and 'q'");
  EXPECT_EQ(errorOf("root ::= \"\\x4\""),
            "grammar, line 1: expected 2 hexadecimal digits, not '\"'");
  EXPECT_EQ(errorOf("root ::= \"\\uD800\""),
            "grammar, line 1: an escape that is no character");
  EXPECT_EQ(errorOf("root ::= \"\\U00110000\""),
            "grammar, line 1: an escape that is no character");
  for (std::string_view token : {"<think>", "<[7]>", "!<[7]>"})
    EXPECT_EQ(errorOf("root ::= " + std::string(token)),
              "grammar, line 1: tokens, as in <think> or <[7]>, are not "
              "supported");
  EXPECT_EQ(errorOf("root ::= \"\xC3\""), "grammar: not valid UTF-8");
}

TEST(GbnfTest, RefusesLeftRecursionByName) {
  EXPECT_EQ(errorOf("root ::= expr\nexpr ::= expr \"+\" \"1\" | \"1\""),
            "grammar: rule 'expr' is left-recursive, it can begin with itself: "
            "expr -> expr");
  // Left recursion after a part that can be empty, and through another rule,
  // which is too long to be inlined.
  EXPECT_EQ(errorOf("root ::= (\"x\"* b)? \"end\"\n"
                    "b ::= [y]? c \"z\" | \"w\"\n"
                    "c ::= b \"v\" | \"" +
                    std::string(40, 'u') + "\""),
            "grammar: rule 'c' is left-recursive, it can begin with itself: "
            "c -> b -> c");
  EXPECT_EQ(errorOf("root ::= root"),
            "grammar: rule 'root' is left-recursive, it can begin with itself: "
            "root -> root");
}

TEST(GbnfTest, RefusesWhatMatchesNoText) {
  EXPECT_EQ(errorOf("root ::= \"a\" root"),
            "grammar: the grammar matches no text: 'root' has no end that can "
            "be reached");
}

/// A repetition inside a counted one is written out, since a counted rule calls
/// no other.
TEST(GbnfTest, CountsTheOuterOfTwoRepetitions) {
  Grammar grammar = gbnf("root ::= (\"a\"{20} \"b\"){2,100}");
  const std::string once = std::string(20, 'a') + "b";
  EXPECT_FALSE(matches(grammar, once));
  EXPECT_TRUE(matches(grammar, once + once));
  EXPECT_FALSE(matches(grammar, once + "a" + once));
  std::string often;
  for (int i = 0; i < 100; ++i)
    often += once;
  EXPECT_TRUE(matches(grammar, often));
  EXPECT_FALSE(matches(grammar, often + once));
}

TEST(GbnfTest, HasLimits) {
  EXPECT_EQ(errorOf(std::string((1 << 20) + 1, ' ')),
            "grammar: 1048577 bytes, more than 1048576");
  EXPECT_EQ(errorOf("root ::= " + std::string(200, '(')),
            "grammar, line 1: more than 128 groups within each other");
  EXPECT_EQ(errorOf("root ::= \"a\"" + std::string(100, '*')),
            "grammar, line 1: there is nothing that '*' could repeat");
  // Repetitions of repetitions, whose bodies cannot be counted.
  std::string nested = "(\"a\" | \"aa\")";
  for (int i = 0; i < 40; ++i)
    nested = "(" + nested + "){30}";
  EXPECT_EQ(errorOf("root ::= " + nested),
            "grammar: the grammar is too large: its automaton needs more than "
            "524288 states");
  // The deterministic automaton would have 2^30 states.
  EXPECT_EQ(errorOf("root ::= [ab]* \"a\" [ab]{15} [ab]{15}"),
            "grammar: rule 'root': the grammar is too large: its automaton "
            "needs more than 524288 states");
}

} // namespace
