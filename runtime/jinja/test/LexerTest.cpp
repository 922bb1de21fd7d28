//===- LexerTest.cpp - tests of tokens and of white space around tags -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Lexer.h"

#include <gmock/gmock.h>

using namespace sluice::text::jinja;
using testing::ElementsAre;

namespace {

/// Returns the tokens as "offset kind text".
std::vector<std::string> spelt(std::string_view source) {
  static constexpr std::string_view names[] = {"data",  "{{",   "}}",     "{%",
                                               "%}",    "name", "string", "int",
                                               "float", "op",   "end"};
  std::vector<std::string> out;
  for (const Lexeme &token : tokenize(source)) {
    std::string text = std::to_string(token.at.offset) + " " +
                       std::string(names[static_cast<size_t>(token.kind)]);
    out.push_back(token.text.empty() ? text : text + " " + token.text);
  }
  return out;
}

std::string errorOf(std::string_view source) {
  try {
    tokenize(source);
  } catch (const TemplateError &error) {
    return std::to_string(error.at.offset) + ": " + error.message;
  }
  return "";
}

TEST(Lexer, KnowsWhereTokensAre) {
  EXPECT_THAT(spelt("a{{ b[1.5] // 'c' }}d"),
              ElementsAre("0 data a", "1 {{", "4 name b", "5 op [",
                          "6 float 1.5", "9 op ]", "11 op //", "14 string c",
                          "18 }}", "20 data d", "21 end"));
  EXPECT_THAT(spelt(""), ElementsAre("0 end"));
}

TEST(Lexer, TakesBracesOfDictsForOperators) {
  EXPECT_THAT(spelt("{{{'a':{}}}}"),
              ElementsAre("0 {{", "2 op {", "3 string a", "6 op :", "7 op {",
                          "8 op }", "9 op }", "10 }}", "12 end"));
}

TEST(Lexer, ReadsNumbers) {
  EXPECT_THAT(spelt("{{ 1_000 1e3 1.5E-2 0 a.0.1 }}"),
              ElementsAre("0 {{", "3 int 1000", "9 float 1e3",
                          "13 float 1.5E-2", "20 int 0", "22 name a", "23 op .",
                          "24 int 0", "25 op .", "26 int 1", "28 }}",
                          "30 end"));
}

TEST(Lexer, StripsAroundTags) {
  EXPECT_THAT(spelt("a \n  {% b %}\n c"),
              ElementsAre("0 data a \n", "5 {%", "8 name b", "10 %}",
                          "13 data  c", "15 end"));
  EXPECT_THAT(spelt("a \n {%- b -%} \n c"),
              ElementsAre("0 data a", "4 {%", "8 name b", "10 %}", "16 data c",
                          "17 end"));
  EXPECT_THAT(spelt(" {%+ b +%}\nc"),
              ElementsAre("0 data  ", "1 {%", "5 name b", "7 %}", "10 data \nc",
                          "12 end"));
  EXPECT_THAT(spelt(" {# #}\n {{ b }}\n"),
              ElementsAre("7 data  ", "8 {{", "11 name b", "13 }}",
                          "15 data \n", "16 end"));
}

TEST(Lexer, RefusesWhatIsNoToken) {
  EXPECT_EQ(errorOf("{{ 'a }}"), "3: the string is not closed");
  EXPECT_EQ(errorOf("{{ 'a\\"), "3: the string is not closed");
  EXPECT_EQ(errorOf("x{# y"), "1: the comment is not closed");
  EXPECT_EQ(errorOf("{{ a ! b }}"), "5: unexpected character '!'");
  EXPECT_EQ(errorOf("{{ é }}"), "3: unexpected character 'é'");
  EXPECT_EQ(errorOf("{{ (a] }}"), "5: unexpected ']'");
  EXPECT_EQ(errorOf("{{ a) }}"), "4: unexpected ')'");
  EXPECT_EQ(errorOf("{{ 0x1F }}"), "3: '0x' is not a number");
  EXPECT_EQ(errorOf("{{ 12ab }}"), "3: '12a' is not a number");
  EXPECT_EQ(errorOf("{{ 007 }}"), "3: a number starts with 0");
  EXPECT_EQ(errorOf("{{ '\\u12' }}"),
            "4: an escape needs 4 hexadecimal digits");
  EXPECT_EQ(errorOf("{{ 'ab\\x1' }}"),
            "6: an escape needs 2 hexadecimal digits");
  EXPECT_EQ(errorOf("{{ '\\ud800' }}"), "4: an escape is not a character");
  EXPECT_EQ(errorOf("{{ '\\U00110000' }}"), "4: an escape is not a character");
  EXPECT_EQ(errorOf("{{ '\\N{DASH}' }}"),
            "4: escapes by a character's name are not supported");
  EXPECT_EQ(errorOf("{% raw %}{{ 'a }}{% endraw %}"),
            "3: statement 'raw' is not supported");
}

TEST(Lexer, NormalizesLineEnds) {
  EXPECT_EQ(normalizeTemplate("a\r\nb\rc\n\n"), "a\nb\nc\n");
  EXPECT_EQ(normalizeTemplate("a\r"), "a");
  EXPECT_EQ(normalizeTemplate("\r\n"), "");
  EXPECT_EQ(normalizeTemplate(""), "");
}

} // namespace
