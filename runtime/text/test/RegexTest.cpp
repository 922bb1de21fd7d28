//===- RegexTest.cpp - tests of patterns and their limits -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Regex.h"

#include "runtime/text/RegexSyntax.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<std::string> matches(std::string_view pattern,
                                 std::string_view text) {
  Expected<Regex> regex = Regex::fromOniguruma(pattern);
  if (!regex) {
    ADD_FAILURE() << regex.status().message();
    return {};
  }
  std::vector<Span> spans;
  Status status = regex->findAll(text, spans);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::string> out;
  for (const Span &span : spans)
    out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

std::string refusal(std::string_view pattern) {
  Expected<Regex> regex = Regex::fromOniguruma(pattern);
  return regex ? "accepted" : regex.status().message();
}

TEST(Regex, FindsLeftmostMatches) {
  EXPECT_THAT(matches("a+|b", "xaabyb"), ElementsAre("aa", "b", "b"));
  EXPECT_THAT(matches(R"(\p{L}+)", "naïve 日本"), ElementsAre("naïve", "日本"));
  EXPECT_THAT(matches("(?i:'LL)", "we'll"), ElementsAre("'ll"));
  EXPECT_THAT(matches("x*", "axx"), ElementsAre("", "xx"));
}

TEST(Regex, ClassesAreThoseOfOniguruma) {
  EXPECT_THAT(matches(R"(\s)", "\u180E\u00A0\u0085\u200B"),
              ElementsAre("\u00A0", "\u0085"));
  EXPECT_THAT(matches(R"(\w)", "a\u0301½Ⅷ①_-"),
              ElementsAre("a", "\u0301", "½", "Ⅷ", "_"));
  EXPECT_THAT(matches(R"([\w])", "a½"), ElementsAre("a"));
  EXPECT_THAT(matches(R"(\h+)", "xaF0z"), ElementsAre("aF0"));
  EXPECT_THAT(matches(R"(\v)", "\x0B\n"), ElementsAre("\x0B"));
  EXPECT_THAT(matches("[a[bc]]+", "abcd"), ElementsAre("abc"));
  EXPECT_THAT(matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(matches("^b", "a\nb"), ElementsAre("b"));
  EXPECT_THAT(matches(R"([\s-x])", "a-x "), ElementsAre("-", "x", " "));
}

TEST(Regex, KnowsCharactersOfUnicode16) {
  EXPECT_THAT(matches(R"(\p{L}+)", "\U00010D4A\U00031350!"),
              ElementsAre("\U00010D4A\U00031350"));
  EXPECT_THAT(matches(R"(\p{N})", "\U00010D40x"), ElementsAre("\U00010D40"));
}

TEST(Regex, RefusesWhatItCannotTranslate) {
  EXPECT_THAT(refusal("[a&&b]"), HasSubstr("intersection"));
  EXPECT_THAT(refusal(R"((a)\1)"), HasSubstr("the escape \\1"));
  EXPECT_THAT(refusal("(?m:.)"), HasSubstr("the group '(?m:'"));
  EXPECT_THAT(refusal("a(?i)b"), HasSubstr("the group"));
  EXPECT_THAT(refusal("(*ACCEPT)"), HasSubstr("(*"));
  EXPECT_THAT(refusal("a{2}+"), HasSubstr("quantifier"));
  EXPECT_THAT(refusal(R"([\W])"), HasSubstr("\\W inside a set"));
  EXPECT_THAT(refusal("[[:alpha:]]"), HasSubstr("a set inside a set"));
  EXPECT_THAT(refusal("[a"), HasSubstr("without its end"));
  EXPECT_THAT(refusal("a\\"), HasSubstr("backslash"));
  EXPECT_THAT(refusal("("), HasSubstr("missing closing parenthesis"));
  EXPECT_THAT(refusal("\xFF"), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal(R"(\p{Nonsense})"), HasSubstr("Nonsense"));
}

TEST(Regex, StopsAPatternThatExplodes) {
  Expected<Regex> regex = Regex::fromOniguruma("(?:a+)+$");
  ASSERT_TRUE(regex.ok());
  std::vector<Span> spans;
  Status status = regex->findAll(std::string(5000, 'a') + "b", spans);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("within its limits"));
}

TEST(Regex, SurvivesDeepRecursion) {
  Expected<Regex> regex = Regex::fromOniguruma("(?:a|b)*c");
  ASSERT_TRUE(regex.ok());
  std::vector<Span> spans;
  std::string text(1'000'000, 'a');
  (void)regex->findAll(text + "c", spans); // matches, or fails at the limit
}

} // namespace
