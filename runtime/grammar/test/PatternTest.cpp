//===- PatternTest.cpp - tests of regular expressions of schemas ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <gtest/gtest.h>
#include <string>

using namespace sluice;
using namespace sluice::grammar;

namespace {

TextAutomaton compile(std::string_view pattern) {
  Expected<TextAutomaton> made = compilePattern(pattern, anyWork());
  EXPECT_TRUE(made) << pattern << ": " << made.status().message();
  return made ? made.take() : TextAutomaton();
}

void check(std::string_view pattern, const std::vector<std::string> &in,
           const std::vector<std::string> &out) {
  TextAutomaton automaton = compile(pattern);
  for (const std::string &text : in)
    EXPECT_TRUE(automaton.contains(text)) << pattern << " and " << text;
  for (const std::string &text : out)
    EXPECT_FALSE(automaton.contains(text)) << pattern << " and " << text;
}

std::string errorOf(std::string_view pattern) {
  return compilePattern(pattern, anyWork()).status().message();
}

TEST(PatternTest, SearchesUnlessAnchored) {
  check("b", {"b", "abc", "bb"}, {"", "ac"});
  check("^b", {"b", "bc"}, {"ab", ""});
  check("b$", {"b", "ab"}, {"bc", ""});
  check("^b$", {"b"}, {"ab", "bc", "", "bb"});
  check("^a|b$", {"ax", "xb", "ab"}, {"xa", "bx"});
  check("^(a|b)$", {"a", "b"}, {"ab"});
  check("", {"", "x"}, {});
  check("^$", {""}, {"x"});
}

TEST(PatternTest, Characters) {
  check("^.$", {"a", "é", "😀", "\t"}, {"", "ab", "\n", "\r", "\u2028"});
  check("^\\d\\D$", {"1a", "0é"}, {"12", "a1", "٣a"});
  check("^\\w\\W$", {"a-", "_é", "9 "}, {"ab", "-a", "é-"});
  check("^\\s\\S$", {" a", "\tb", "\u00A0c", "\u2003d"}, {"ab", "a "});
  check("^\\t\\n\\r\\f\\v\\0$", {std::string("\t\n\r\f\v\0", 6)}, {"tnrfv0"});
  check("^\\x41\\u00e9\\u{1F600}\\uD83D\\uDE00$", {"Aé😀😀"}, {"A"});
  check("^\\^\\$\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/\\\\\\-\\_$",
        {"^$.*+?()[]{}|/\\-_"}, {});
  check("^é{2}$", {"éé"}, {"é"});
  check("^{}]$", {"{}]"}, {});
}

TEST(PatternTest, Classes) {
  check("^[a-cx]$", {"a", "b", "c", "x"}, {"d", "", "-"});
  check("^[^a-c]$", {"d", "\n", "é"}, {"a", ""});
  check("^[-a]$", {"-", "a"}, {"b"});
  check("^[a-]$", {"-", "a"}, {"b"});
  check("^[\\d_-]$", {"5", "_", "-"}, {"a"});
  check("^[^\\w]$", {"-"}, {"a"});
  check("^[\\]\\\\^]$", {"]", "\\", "^"}, {"a"});
  check("^[\\b]$", {"\b"}, {"b"});
  check("^[.*]$", {".", "*"}, {"a"});
}

TEST(PatternTest, GroupsAndRepetitions) {
  check("^a*$", {"", "a", "aa"}, {"b"});
  check("^a+?$", {"a", "aa"}, {""});
  check("^a??b$", {"b", "ab"}, {"aab"});
  check("^a{2}$", {"aa"}, {"a", "aaa"});
  check("^a{2,}$", {"aa", "aaaa"}, {"a"});
  check("^a{1,3}?$", {"a", "aaa"}, {"", "aaaa"});
  check("^(?:ab|c)+$", {"ab", "cabc"}, {"", "a"});
  check("^(?<name>a)(b)$", {"ab"}, {"a"});
  check("^((a|b){2}c)*$", {"", "abc", "aacbbc"}, {"ac"});
}

TEST(PatternTest, NamesWhatItRefuses) {
  EXPECT_EQ(errorOf("a(?=b)"), "at byte 1: a look-ahead is not supported");
  EXPECT_EQ(errorOf("(?!b)a"), "at byte 0: a look-ahead is not supported");
  EXPECT_EQ(errorOf("(?<=b)a"), "at byte 0: a look-behind is not supported");
  EXPECT_EQ(errorOf("(?<!b)a"), "at byte 0: a look-behind is not supported");
  EXPECT_EQ(errorOf("(?i)a"), "at byte 0: the group '(?i' is not supported");
  EXPECT_EQ(errorOf("(a)\\1"), "at byte 3: a back reference is not supported");
  EXPECT_EQ(errorOf("\\k<a>"), "at byte 0: a back reference is not supported");
  EXPECT_EQ(errorOf("\\bword"), "at byte 0: a word boundary is not supported");
  EXPECT_EQ(errorOf("a\\B"), "at byte 1: a word boundary is not supported");
  EXPECT_EQ(errorOf("\\p{L}"),
            "at byte 0: a Unicode property is not supported");
  EXPECT_EQ(errorOf("\\cA"), "at byte 0: the escape \\c is not supported");
  EXPECT_EQ(errorOf("\\01"), "at byte 0: an octal escape is not supported");
  EXPECT_EQ(errorOf("a^b"),
            "at byte 1: an anchor within the pattern is not supported");
  EXPECT_EQ(errorOf("(^a)"),
            "at byte 1: an anchor within the pattern is not supported");
  EXPECT_EQ(errorOf("a$b"),
            "at byte 1: an anchor within the pattern is not supported");
  EXPECT_EQ(errorOf("[a-\\d]"),
            "at byte 3: a range up to a class is not supported");
  EXPECT_EQ(errorOf("a{99999}"),
            "at byte 7: a repetition of more than 32768 is not supported");
}

TEST(PatternTest, NamesWhatIsMalformed) {
  EXPECT_EQ(errorOf("*a"), "at byte 0: there is nothing to repeat");
  EXPECT_EQ(errorOf("a**"), "at byte 2: there is nothing to repeat");
  EXPECT_EQ(errorOf("a++"), "at byte 2: there is nothing to repeat");
  EXPECT_EQ(errorOf("{2}"), "at byte 0: there is nothing to repeat");
  EXPECT_EQ(errorOf("(a"), "at byte 2: a group without its ')'");
  EXPECT_EQ(errorOf("a)"), "at byte 1: a ')' without its '(' is not supported");
  EXPECT_EQ(errorOf("[a"), "at byte 2: a class without its ']'");
  EXPECT_EQ(errorOf("[]"), "at byte 2: a class that no character is in");
  EXPECT_EQ(errorOf("[z-a]"), "at byte 4: a range that ends before it begins");
  EXPECT_EQ(errorOf("a\\"), "at byte 1: a backslash at the end");
  EXPECT_EQ(errorOf("\\x4"),
            "at byte 3: an escape without its hexadecimal digits");
  EXPECT_EQ(errorOf("\\u{41"), "at byte 5: an escape without its '}'");
  EXPECT_EQ(errorOf("\\ud800"), "at byte 6: an escape that is no character");
  EXPECT_EQ(errorOf("a{3,2}"),
            "at byte 5: a quantifier whose bounds are the wrong way round");
  EXPECT_EQ(errorOf("a{3"), "at byte 3: a quantifier without its '}'");
  EXPECT_EQ(errorOf("(?<n"), "at byte 0: a group's name without its '>'");
  EXPECT_EQ(errorOf("\xFF"), "a pattern that is not valid UTF-8");
}

TEST(PatternTest, HasLimits) {
  EXPECT_EQ(errorOf(std::string(20000, 'a')),
            "a pattern of 20000 bytes, more than 16384");
  EXPECT_EQ(errorOf(std::string(200, '(')),
            "at byte 128: a group in so many others is not supported");
  EXPECT_EQ(errorOf("(a|b)*a(a|b){20}"),
            "its automaton needs more than 32768 states or 524288 edges");
  EXPECT_EQ(errorOf("((((a{100}){100}){100}){100}){100}"),
            "its automaton needs more than 32768 states or 524288 edges");
}

struct FormatCase {
  std::string_view format;
  std::vector<std::string> in;
  std::vector<std::string> out;
};

TEST(PatternTest, Formats) {
  const FormatCase cases[] = {
      {"date",
       {"2024-02-29", "2023-12-31", "2000-02-29", "0001-01-01", "9999-06-30"},
       {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "0000-01-01",
        "2024-00-10", "2024-1-1", "2024-01-32", "24-01-01"}},
      {"time",
       {"00:00:00Z", "23:59:59.123+05:30", "12:00:00-08:00"},
       {"24:00:00Z", "12:60:00Z", "12:00:00", "12:00Z", "12:00:00.Z"}},
      {"date-time",
       {"2024-02-29T23:59:59Z", "1985-04-12T23:20:50.52Z",
        "1996-12-19T16:39:57-08:00"},
       {"2023-02-29T00:00:00Z", "2024-01-01", "2024-01-01 00:00:00Z",
        "2024-01-01T00:00:00"}},
      {"duration",
       {"P1D", "P3Y6M4DT12H30M5S", "PT36H", "P2W", "PT0S", "P1YT2H"},
       {"P", "PT", "P1S", "1D", "P1DT", "P1Y2D", "PT1H2S", "P2W1D"}},
      {"email",
       {"a@b.co", "first.last+tag@example.org", "x_y@localhost"},
       {"@b.co", "a@", "a b@c.de", ".a@b.co", "a.@b.co", "a..b@c.de",
        "a@-b.co"}},
      {"hostname",
       {"localhost", "a.b-c.example", "0x.de", "EXAMPLE.com"},
       {"", "-a.de", "a-.de", "a..de", "a_b.de", ".de"}},
      {"ipv4",
       {"0.0.0.0", "255.255.255.255", "192.168.1.10"},
       {"256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 "}},
      {"ipv6",
       {"::", "::1", "1::", "2001:db8::1", "1:2:3:4:5:6:7:8", "fe80::a:b",
        "1:2:3:4:5:6:7::"},
       {":", ":::", "1::2::3", "1:2:3:4:5:6:7", "12345::", "1:2:3:4:5:6:7:8:9",
        "g::"}},
      {"uuid",
       {"123e4567-e89b-12d3-a456-426614174000",
        "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"},
       {"123e4567e89b12d3a456426614174000",
        "123e4567-e89b-12d3-a456-42661417400",
        "g23e4567-e89b-12d3-a456-"
        "426614174000"}},
      {"uri",
       {"https://example.org", "http://a.b:8080/c/d%20e?f=g&h#i",
        "ftp://host/"},
       {"example.org", "http//x", "http://", "http://a b", "1a://b",
        "http://a/%2"}},
  };
  for (const FormatCase &it : cases) {
    std::optional<std::string_view> pattern = formatPattern(it.format);
    ASSERT_TRUE(pattern) << it.format;
    check(*pattern, it.in, it.out);
  }
  EXPECT_FALSE(formatPattern("regex"));
  EXPECT_FALSE(formatPattern(""));
}

/// All work is charged, and an automaton holds bytes until it is destroyed.
TEST(PatternTest, AutomataChargeTheMeter) {
  constexpr size_t max = 5000;
  const std::string long_ = "^.{0,5000}$";
  TextAutomaton few = compile("^.{0,5}$"), many = compile(long_);
  for (auto combine :
       {&TextAutomaton::intersection, &TextAutomaton::difference}) {
    WorkMeter meter({.steps = max}), tooLittle({.steps = max});
    {
      Expected<TextAutomaton> made = combine(few, few, meter);
      EXPECT_TRUE(made);
      EXPECT_EQ(meter.heldBytes() > 0, !made->empty());
    }
    EXPECT_EQ(meter.heldBytes(), 0u);
    EXPECT_EQ(combine(many, many, tooLittle).status().message(),
              "it takes more than 5000 steps");
  }
  WorkMeter steps({.steps = max}), bytes({.bytes = max});
  EXPECT_EQ(compilePattern(long_, steps).status().message(),
            "it takes more than 5000 steps");
  EXPECT_EQ(compilePattern(long_, bytes).status().message(),
            "it takes more than 0 MiB of memory");
}

TEST(PatternTest, AutomataCombine) {
  TextAutomaton a = compile("^[a-z]+$"), b = compile("x");
  TextAutomaton both = *TextAutomaton::intersection(a, b, anyWork());
  TextAutomaton only = *TextAutomaton::difference(a, b, anyWork());
  for (std::string text : {"x", "axb", "ab", "", "X", "1x", "é"}) {
    bool inA = a.contains(text), inB = b.contains(text);
    EXPECT_EQ(both.contains(text), inA && inB) << text;
    EXPECT_EQ(only.contains(text), inA && !inB) << text;
  }
  SizedTexts some{.texts = TextAutomaton::all(), .min = 2, .max = 3};
  for (std::string text : {"ab", "abc", "éé", "😀é€"})
    EXPECT_TRUE(some.contains(text)) << text;
  for (std::string text : {"a", "abcd", "é", "😀😀😀😀"})
    EXPECT_FALSE(some.contains(text)) << text;
  some.texts = a;
  EXPECT_TRUE(some.contains("ab"));
  EXPECT_FALSE(some.contains("éé"));
  EXPECT_TRUE(
      TextAutomaton::intersection(compile("^a$"), compile("^b$"), anyWork())
          ->empty());
  EXPECT_TRUE(
      TextAutomaton::difference(a, TextAutomaton::all(), anyWork())->empty());
  EXPECT_TRUE(
      TextAutomaton::intersection(TextAutomaton(), a, anyWork())->empty());
  EXPECT_TRUE(
      TextAutomaton::difference(a, TextAutomaton(), anyWork())->contains("a"));
  TextAutomaton names = *TextAutomaton::of({"é", "ab", ""}, anyWork());
  for (std::string text : {"é", "ab", ""})
    EXPECT_TRUE(names.contains(text));
  EXPECT_FALSE(names.contains("a"));
  EXPECT_TRUE(TextAutomaton::of({}, anyWork())->empty());
}

} // namespace
