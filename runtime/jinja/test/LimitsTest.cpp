//===- LimitsTest.cpp - tests of limits on time and memory ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::text;
using testing::HasSubstr;

namespace {

constexpr RenderLimits small{
    .outputBytes = 1000, .steps = 20000, .valueBytes = size_t(1) << 20};

std::string errorOf(const std::string &source,
                    const RenderLimits &limits = small) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  if (!chat)
    return "";
  Expected<std::string> text = chat->render({}, limits);
  return text ? "" : text.status().message();
}

TEST(Limits, OfTheOutput) {
  EXPECT_EQ(errorOf("{{ 'a' * 1000 }}"), "");
  EXPECT_EQ(errorOf("{{ 'a' * 1001 }}"),
            "chat template: line 1, column 8: the text is longer than 1000 "
            "bytes");
  EXPECT_THAT(errorOf("{% for i in range(600) %}ab{% endfor %}"),
              HasSubstr("the text is longer than 1000 bytes"));
}

TEST(Limits, OfSteps) {
  RenderLimits limits;
  limits.steps = 20000;
  for (std::string source :
       {"{% for i in range(50000) %}{% endfor %}",
        "{%for i in range(200)%}{%for j in range(200)%}{%endfor%}{%endfor%}",
        "{{ range(60000) | select | list | length }}",
        "{% set x = range(10000) | list %}{{ x == x }}{{ x == x }}{{ x == x }}",
        "{% set x = range(300) | list %}{{ x | unique | list | length }}",
        "{%set s = ' ' * 100000%}{%for i in range(20)%}{{ s|trim }}{%endfor%}",
        "{% set s = 'a' * 20000 %}{{ s.find(s) }}",
        "{% set s = 'a' * 20000 %}{{ s in s }}",
        "{% set s = 'a' * 20000 %}{% set p = s.split(s) %}",
        "{% set s = 'a' * 20000 %}{% set p = s.strip(s) %}"})
    EXPECT_THAT(errorOf(source, limits),
                HasSubstr("rendering takes more than 20000 steps"))
        << source;
}

/// A caller's meter ends the rendering as well, and knows why.
TEST(Limits, OfAMeter) {
  const std::string source = "{% for i in range(50000) %}{% endfor %}";
  WorkMeter unwanted({}, [] { return true; });
  EXPECT_THAT(errorOf(source, {.meter = &unwanted}),
              HasSubstr("nobody waits for it"));
  EXPECT_EQ(unwanted.end(), WorkMeter::End::Unwanted);
  WorkMeter late({.time = std::chrono::nanoseconds(0)});
  EXPECT_THAT(errorOf(source, {.meter = &late}),
              HasSubstr("it takes more than 0 s"));
  EXPECT_EQ(late.end(), WorkMeter::End::Time);
  WorkMeter enough({});
  EXPECT_EQ(errorOf(source, {.meter = &enough}), "");
  EXPECT_GT(enough.steps(), 50000u);
}

/// For templates that look back from every message, and templates that build
/// the prompt themselves, steps and values grow with the conversation and not
/// with its square.
TEST(Limits, LongConversationsTakeATimeInProportion) {
  ChatInput input;
  for (int i = 0; i < 10000; ++i)
    input.messages.push_back(
        {{"role", i % 2 ? "assistant" : "user"}, {"content", "some words"}});
  RenderLimits limits;
  limits.steps = 2'000'000;
  limits.valueBytes = size_t(32) << 20;
  for (std::string_view source :
       {"{% for m in messages %}{% set n = namespace(found=false, role='') %}"
        "{% for j in range(loop.index0 - 1, -1, -1) %}{% if not n.found %}"
        "{% set n.role = messages[j].role %}{% set n.found = true %}{% endif %}"
        "{% endfor %}{{ n.role }}{% endfor %}",
        "{% set n = namespace(out='') %}{% for m in messages %}"
        "{% set n.out = n.out ~ m.role ~ ': ' ~ m.content %}{% endfor %}"
        "{{ n.out }}"}) {
    Expected<ChatTemplate> chat = ChatTemplate::compile(source);
    ASSERT_TRUE(chat);
    Expected<std::string> prompt = chat->render(input, limits);
    EXPECT_TRUE(prompt) << prompt.status().message();
  }
}

/// The items of a range are made one by one, so even a long range makes no
/// values that are not counted.
TEST(Limits, TheLengthOfALoopIsNotCountedOut) {
  RenderLimits limits;
  limits.steps = 200'000;
  limits.valueBytes = size_t(1) << 20;
  limits.outputBytes = size_t(1) << 20;
  EXPECT_EQ(errorOf("{% for i in range(5000) %}{% for j in range(100000) %}"
                    "{{ loop.length }}{% break %}{% endfor %}{% endfor %}",
                    limits),
            "");
}

TEST(Limits, OfVariables) {
  auto setAll = [](size_t count, const std::string &prefix) {
    std::string text = "{% set ns = namespace() %}";
    for (size_t i = 0; i < count; ++i)
      text += "{% set " + prefix + std::to_string(i) + " = 1 %}";
    return text;
  };
  EXPECT_EQ(errorOf(setAll(498, "a")), "");
  EXPECT_THAT(ChatTemplate::compile(setAll(499, "a")).status().message(),
              HasSubstr("more than 500 names of variables"));
  // Access is dearer with many variables, or attributes of a namespace, than
  // with few.
  const std::string often = "{% for i in range(2000) %}{% set x = ";
  EXPECT_EQ(errorOf(setAll(9, "a") + often + "a1 %}{% endfor %}"), "");
  EXPECT_THAT(errorOf(setAll(490, "a") + often + "a1 %}{% endfor %}"),
              HasSubstr("20000 steps"));
  EXPECT_EQ(errorOf(setAll(9, "ns.a") + often + "ns.a1 %}{% endfor %}"), "");
  EXPECT_THAT(errorOf(setAll(400, "ns.a") + often + "ns.a1 %}{% endfor %}"),
              HasSubstr("20000 steps"));
}

TEST(Limits, OfTexts) {
  EXPECT_EQ(errorOf("{% set s = 'a' * 16777216 %}", {}), "");
  EXPECT_THAT(errorOf("{% set s = 'a' * 16777217 %}", {}),
              HasSubstr("a text is longer than 16777216 bytes"));
}

TEST(Limits, OfValues) {
  const std::string message = "1048576 bytes of values";
  for (std::string source :
       {"{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(64) %}"
        "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(64) %}"
        "{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set s = 'a' * 1000 %}{% for i in range(9) %}"
        "{% set x = s | replace('', s) %}{% endfor %}",
        "{% set s = 'a' * 1000 %}{% set x = s.replace('', s) %}"
        "{% set x = s.replace('', s) %}",
        "{% set l = ['a' * 1000] * 1000 %}{% set s = l | string %}",
        "{% set l = ['a' * 1000] * 1000 %}{% set s = l | tojson %}",
        "{% set l = ['a' * 1000] * 1000 %}{% set s = l | join %}",
        "{% set l = [1] * 1000 %}{% set s = l | join('a' * 1100) %}",
        "{% set l = [1] * 1000 %}{% set s = l | tojson(indent='a' * 1100) %}",
        "{% set l = [1] * 1000 %}"
        "{% set s = l | tojson(separators=('a' * 1100, ':')) %}",
        "{% set s = ('\n' * 1000) | indent(1000, blank=true) %}"
        "{% set s = ('\n' * 1000) | indent(1000, blank=true) %}",
        "{% set s = ('a' * 100000).split('') if false else 'a' * 10000 %}"
        "{% set l = s | list %}{% set l = s | list %}"})
    EXPECT_THAT(errorOf(source), HasSubstr(message)) << source;
  EXPECT_THAT(errorOf("{{ 'a' * 10000000000 }}"),
              HasSubstr("repeated 10000000000 times is too large"));
  EXPECT_THAT(errorOf("{{ [1] * 10000000000 }}"), HasSubstr("too large"));
  EXPECT_EQ(errorOf("{{ '' * 10000000000 }}{{ 'a' * -10000000000 }}"), "");
}

TEST(Limits, OfRecursion) {
  EXPECT_EQ(errorOf("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}"
                    "{% endmacro %}{{ m(50) }}"),
            "");
  EXPECT_THAT(errorOf("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
              HasSubstr("macros call each other too deep"));
  EXPECT_THAT(errorOf("{% macro a(x=a()) %}{% endmacro %}{{ a() }}"),
              HasSubstr("macros call each other too deep"));
  EXPECT_THAT(errorOf("{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}"
                      "{{ caller() }}{% endmacro %}{% call m() %}x{% endcall "
                      "%}"),
              HasSubstr("macros call each other too deep"));
}

TEST(Limits, OfNesting) {
  EXPECT_THAT(errorOf("{% set ns = namespace(x=[]) %}{% for i in range(200) %}"
                      "{% set ns.x = [ns.x] %}{% endfor %}"),
              HasSubstr("values nest deeper than 100 levels"));
  EXPECT_THAT(errorOf("{% set ns = namespace(x={}) %}{% for i in range(200) %}"
                      "{% set ns.x = {'a': ns.x} %}{% endfor %}"),
              HasSubstr("values nest deeper than 100 levels"));
  EXPECT_THAT(errorOf("{% set ns = namespace(x=[]) %}{% for i in range(200) %}"
                      "{% set ns.x = [ns.x] | select %}{% endfor %}"),
              HasSubstr("values nest deeper than 100 levels"));
}

TEST(Limits, AreNotNeededForCycles) {
  // A namespace that refers to itself is freed, and neither printed nor
  // compared.
  EXPECT_EQ(errorOf("{% set ns = namespace() %}{% set ns.me = ns %}"
                    "{% set ns.l = [ns, ns] %}{{ ns.l == [ns, ns] }}"
                    "{% for x in [1] %}{% set ns.loop = loop %}{% endfor %}"
                    "{{ ns.loop.index }}{{ ns.loop.nextitem }}"
                    "{% macro m() %}{% endmacro %}{% set ns.m = m %}"),
            "");
  EXPECT_THAT(errorOf("{% set ns = namespace() %}{% set ns.l = [ns] %}"
                      "{{ ns.l }}"),
              HasSubstr("a namespace cannot be printed"));
  // A loop that has ended holds none of its items.
  EXPECT_EQ(errorOf("{% set ns = namespace(x=0) %}{% for i in range(900) %}"
                    "{% for j in [ns.x] %}{% set ns.x = loop %}{% endfor %}"
                    "{% endfor %}"),
            "");
}

} // namespace
