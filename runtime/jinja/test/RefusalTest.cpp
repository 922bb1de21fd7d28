//===- RefusalTest.cpp - tests of unsupported constructs ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

using namespace sluice;
using namespace sluice::text;

namespace {

/// Returns the error of compiling `source`, without "chat template: line ";
/// empty if it compiles.
std::string refusal(std::string_view source) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  if (chat)
    return "";
  std::string message = chat.status().message();
  const std::string prefix = "chat template: line ";
  EXPECT_EQ(message.substr(0, prefix.size()), prefix);
  return message.substr(std::min(prefix.size(), message.size()));
}

/// Returns the only entry of unsupported() for `source`, else a note on how
/// many there are.
std::string unsupported(std::string_view source) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  if (!chat)
    return chat.status().message();
  std::vector<std::string> messages = chat->unsupported();
  return messages.size() == 1 ? messages[0]
                              : std::to_string(messages.size()) + " messages";
}

/// Returns the error of rendering `source` without messages, without its start;
/// empty if it renders.
std::string renderingError(const std::string &source) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  if (!chat)
    return chat.status().message();
  ChatInput input;
  input.variables = {{"x", {1}}, {"y", {1}}, {"d", {{"a", 1}}}};
  Expected<std::string> prompt = chat->render(input);
  if (prompt)
    return "";
  const std::string prefix = "chat template: ";
  std::string message = prompt.status().message();
  EXPECT_EQ(message.substr(0, prefix.size()), prefix);
  return message.substr(std::min(prefix.size(), message.size()));
}

/// A template, and where and why it fails when the failing part is reached.
using Unreached = std::pair<std::string, std::string>;

/// Checks that each template fails where the part is reached, and in no branch
/// that is not taken.
void expectUnsupported(std::span<const Unreached> table) {
  for (const auto &[source, message] : table) {
    EXPECT_EQ(unsupported(source), "line " + message) << source;
    EXPECT_EQ(renderingError(source), "line " + message) << source;
    EXPECT_EQ(renderingError("{% if tools %}" + source + "{% endif %}"), "")
        << source;
  }
}

TEST(Refusal, SaysLineAndColumn) {
  EXPECT_EQ(ChatTemplate::compile("a\r\n\n{{ é }}").status().message(),
            "chat template: line 3, column 4: unexpected character 'é'");
  EXPECT_EQ(
      ChatTemplate::compile("é\n日本 {{ x | 5 }}").status().message(),
      "chat template: line 2, column 11: expected a filter's name instead of "
      "'5'");
  EXPECT_EQ(unsupported("é\n日本 {{ x | xmlattr }}"),
            "line 2, column 11: filter 'xmlattr' is not supported");
}

TEST(Refusal, NamesStatements) {
  const std::pair<std::string, std::string> table[] = {
      {"{% block a %}", "1, column 4: statement 'block' is not supported"},
      {"{% with %}", "1, column 4: statement 'with' is not supported"},
      {"{% do x %}", "1, column 4: statement 'do' is not supported"},
      {"{% print x %}", "1, column 4: statement 'print' is not supported"},
      {"{% autoescape true %}",
       "1, column 4: statement 'autoescape' is not supported"},
      {"{%- raw -%}'{% endraw %}",
       "1, column 5: statement 'raw' is not supported"},
      {"{% set x | upper %}a{% endset %}",
       "1, column 10: filters of a set block are not supported"},
      {"{% for x in y %}{% macro m() %}{% endmacro %}{% endfor %}",
       "1, column 20: a macro inside of a block other than 'if' is not "
       "supported"},
      {"{{ m(a=1, 2) }}",
       "1, column 11: an argument by place is behind one by name"},
  };
  for (const auto &[source, message] : table)
    EXPECT_EQ(refusal(source), message) << source;
}

TEST(Refusal, NamesWhatIsNotSupportedWhereItIsReached) {
  const Unreached table[] = {
      {"{{ x | from_json }}",
       "1, column 8: filter 'from_json' is not supported"},
      {"{{ x is sameas y }}", "1, column 9: test 'sameas' is not supported"},
      {"{{ x is not callable }}",
       "1, column 13: test 'callable' is not supported"},
      {"{{ x.encode() }}", "1, column 6: method 'encode' is not supported"},
      {"{{ 'a{}'.format(1) }}",
       "1, column 10: method 'format' is not supported"},
      {"{{ d.copy() }}", "1, column 6: method 'copy' is not supported"},
      {"{% include 'x' %}",
       "1, column 4: statement 'include' is not supported"},
      {"{% extends 'x' %}",
       "1, column 4: statement 'extends' is not supported"},
      {"{% import 'a' as b %}",
       "1, column 4: statement 'import' is not supported"},
      {"{% from 'a' import b %}",
       "1, column 4: statement 'from' is not supported"},
      {"{% for a in y recursive %}{% endfor %}",
       "1, column 15: recursive loops are not supported"},
      {"{{ '%s' % 1 }}",
       "1, column 9: formatting strings with '%' is not supported"},
      {"{{ 2 ** 3 }}", "1, column 6: operator '**' is not supported"},
      {"{{ dict(*x, 1) }}",
       "1, column 9: '*' before an argument is not supported"},
      {"{{ dict(a=1, **x) }}",
       "1, column 14: '**' before an argument is not supported"},
      {"{{ loop.cycle(1) }}", "1, column 9: 'loop.cycle' is not supported"},
      {"{{ loop.depth }}", "1, column 9: 'loop.depth' is not supported"},
      {"{% macro m() %}{{ varargs }}{% endmacro %}{{ m() }}",
       "1, column 19: variable 'varargs' is not supported"},
      {"{% macro m() %}{{ kwargs }}{% endmacro %}{{ m() }}",
       "1, column 19: variable 'kwargs' is not supported"},
  };
  expectUnsupported(table);
}

TEST(Refusal, NamesFunctions) {
  EXPECT_EQ(unsupported("{{ lipsum(5) }}"),
            "line 1, column 4: function 'lipsum' is not supported");
  EXPECT_EQ(renderingError("{{ lipsum(5) }}"),
            "line 1, column 4: 'lipsum' is undefined");
  EXPECT_EQ(renderingError("{% if tools %}{{ lipsum(5) }}{% endif %}"), "");
}

TEST(Refusal, ListsAllInTheOrderOfTheText) {
  Expected<ChatTemplate> chat =
      ChatTemplate::compile("{{ a | b }}{{ c() }}\n{{ d is e }}{{ f() }}"
                            "{% macro f() %}{% endmacro %}");
  ASSERT_TRUE(chat);
  EXPECT_THAT(
      chat->unsupported(),
      testing::ElementsAre("line 1, column 8: filter 'b' is not supported",
                           "line 1, column 15: function 'c' is not supported",
                           "line 2, column 9: test 'e' is not supported"));
}

TEST(Refusal, ChecksArgumentsWhereTheyAreReached) {
  const Unreached table[] = {
      {"{{ x | tojson(html=1) }}",
       "1, column 8: filter 'tojson' has no argument 'html' here"},
      {"{{ x | trim(1, 2) }}",
       "1, column 8: filter 'trim' does not take 2 arguments"},
      {"{{ x | replace('a') }}",
       "1, column 8: filter 'replace' needs the argument 'new'"},
      {"{{ x | indent(2, width=2) }}",
       "1, column 8: filter 'indent' has two arguments 'width'"},
      {"{{ x is defined(1) }}",
       "1, column 9: test 'defined' does not take 1 arguments"},
      {"{{ x is divisibleby }}",
       "1, column 9: test 'divisibleby' needs the argument 'num'"},
      {"{{ x.get() }}", "1, column 6: method 'get' needs the argument 'key'"},
      {"{{ x | map }}",
       "1, column 8: filter 'map' needs an attribute or a filter"},
      {"{{ x | map(attribute='a', b=1) }}",
       "1, column 8: filter 'map' has no argument 'b' here"},
      {"{{ x | map(y) }}",
       "1, column 12: the name of a filter must be a string here"},
      {"{{ x | map('nope') }}",
       "1, column 12: filter 'nope' is not supported here"},
      {"{{ x | map('select') }}",
       "1, column 12: filter 'select' is not supported here"},
      {"{{ x | select('nope') }}",
       "1, column 15: test 'nope' is not supported here"},
      {"{{ x | selectattr }}",
       "1, column 8: filter 'selectattr' needs an attribute or a test"},
      {"{{ x | selectattr('a', 'eq') }}",
       "1, column 24: test 'eq' needs the argument 'b'"},
  };
  expectUnsupported(table);
}

TEST(Refusal, ChecksTheGrammar) {
  const std::pair<std::string, std::string> table[] = {
      {"{{ }}",
       "1, column 4: expected an expression before the end of the tag"},
      {"{{ a", "1, column 5: expected '}}' before the end of the template"},
      {"{{ a b }}", "1, column 6: expected '}}' instead of 'b'"},
      {"{{ a 'b' }}", "1, column 6: expected '}}' instead of a string"},
      {"{{ a. }}",
       "1, column 7: expected an attribute's name before the end of the tag"},
      {"{{ a[] }}", "1, column 5: an index is missing"},
      {"{{ a[1, 2] }}", "1, column 7: expected ']' instead of ','"},
      {"{{ {'a'} }}", "1, column 8: expected ':' instead of '}'"},
      {"{{ a | 5 }}", "1, column 8: expected a filter's name instead of '5'"},
      {"{{ a is string is string }}",
       "1, column 16: a test of a test needs parentheses"},
      {"{{ 18446744073709551616 }}",
       "1, column 4: the integer needs more than 64 bits"},
      {"{% 5 %}", "1, column 4: expected a statement instead of '5'"},
      {"{% if a %}b", "1, column 4: 'if' is not closed"},
      {"{% if a %}b{% else %}", "1, column 4: 'if' is not closed"},
      {"x\n{% for a in b %}{% if c %}{% endif %}",
       "2, column 4: 'for' is not closed"},
      {"{% endif %}", "1, column 4: unexpected 'endif'"},
      {"{% if a %}{% endfor %}", "1, column 14: unexpected 'endfor'"},
      {"{% else %}", "1, column 4: unexpected 'else'"},
      {"{% if a b %}", "1, column 9: expected '%}' instead of 'b'"},
      {"{% for a %}", "1, column 10: expected 'in' before the end of the tag"},
      {"{% for 'a' in b %}",
       "1, column 8: expected a name instead of a string"},
      {"{% set true = 1 %}", "1, column 8: 'true' cannot be assigned to"},
      {"{% set a.b.c = 1 %}", "1, column 11: expected '%}' instead of '.'"},
      {"{% break %}", "1, column 4: 'break' outside of a loop"},
      {"{% for a in b %}{% set x %}{% continue %}{% endset %}{% endfor %}",
       "1, column 31: 'continue' outside of a loop"},
      {"{% macro m %}", "1, column 12: expected '(' before the end of the tag"},
      {"{% macro m(a=1, b) %}{% endmacro %}",
       "1, column 17: a parameter without a default is behind one with"},
      {"{% call x %}{% endcall %}",
       "1, column 9: 'call' needs a call of a macro"},
      {"{% call x.get(1) %}{% endcall %}",
       "1, column 9: 'call' needs a call of a macro"},
  };
  for (const auto &[source, message] : table)
    EXPECT_EQ(refusal(source), message) << source;
}

TEST(Refusal, TakesWhatTheTemplateDefines) {
  auto count = [](std::string_view source) {
    Expected<ChatTemplate> chat = ChatTemplate::compile(source);
    return chat ? chat->unsupported().size() : 1;
  };
  for (std::string_view source :
       {"{{ f() }}{% macro f() %}{% endmacro %}",
        "{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}",
        "{% for f in x %}{{ f() }}{% endfor %}", "{% set f = dict %}{{ f() }}",
        "{% set append = 1 %}{{ x.append(1) }}"})
    EXPECT_EQ(count(source), 0U) << source;
}

TEST(Refusal, BoundsNesting) {
  auto nested = [](std::string_view open, size_t depth,
                   std::string_view close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i)
      text += open;
    text += "1";
    for (size_t i = 0; i < depth; ++i)
      text += close;
    return text;
  };
  EXPECT_EQ(refusal("{{ " + nested("(", 50, ")") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("(", 5000, ")") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("[", 5000, "]") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("not ", 5000, "") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("- ", 5000, "") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("1 + ", 5000, "") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("1 if 1 else ", 5000, "") + " }}"), "");
  EXPECT_NE(refusal("{{ " + nested("", 5000, "|string") + " }}"), "");
  EXPECT_NE(refusal("{{ a" + nested("", 5000, ".a") + " }}"), "");
  EXPECT_NE(refusal(nested("{% if 1 %}", 5000, "{% endif %}")), "");
  EXPECT_EQ(refusal("{{ " + nested("1 ~ ", 5000, "") + " }}"), "");
  EXPECT_EQ(refusal(nested("{{ 1 }}", 5000, "")), "");
}

TEST(Refusal, ChecksTheText) {
  EXPECT_EQ(ChatTemplate::compile("a\xFF").status().message(),
            "chat template: not valid UTF-8");
  EXPECT_EQ(ChatTemplate::compile(std::string(maxTemplateBytes + 1, 'a'))
                .status()
                .message(),
            "chat template: longer than 1048576 bytes");
  EXPECT_TRUE(ChatTemplate::compile(std::string(maxTemplateBytes, 'a')).ok());
}

} // namespace
