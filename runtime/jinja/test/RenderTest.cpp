//===- RenderTest.cpp - tests of rendering errors and of the input --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"

#include <gtest/gtest.h>
#include <thread>
#include <tuple>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

namespace {

/// Returns the rendered text, or the message of the error.
std::string render(std::string_view source, const ChatInput &input = {}) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  if (!chat)
    return "";
  Expected<std::string> text = chat->render(input);
  return text ? *text : text.status().message();
}

TEST(Render, SaysWhereAndWhatWentWrong) {
  const std::pair<std::string, std::string> table[] = {
      {"a\n {{ raise_exception('Roles\nmust ' ~ 'alternate') }}",
       "line 2, column 5: the template raised: Roles?must alternate"},
      {"{{ x.y }}", "line 1, column 6: 'x' is undefined"},
      {"{{ messages[0].role }}", "line 1, column 16: a list has no such item"},
      {"{{ {}.a.b }}", "line 1, column 9: a dict has no 'a'"},
      {"{{ none.strip() }}",
       "line 1, column 9: a NoneType has no method 'strip'"},
      {"{{ 'a' + none }}",
       "line 1, column 8: '+' does not take str and NoneType"},
      {"{{ 1 + x }}", "line 1, column 6: 'x' is undefined"},
      {"{{ 1 / 0 }}", "line 1, column 6: division by zero"},
      {"{{ 1 < 'a' }}", "line 1, column 6: '<' does not take int and str"},
      {"{% set s = '%s' %}{{ s % 1 }}",
       "line 1, column 24: formatting strings with '%' is not supported"},
      {"{{ 18446744073709551615 + 1 }}",
       "line 1, column 25: an integer needs more than 64 bits"},
      {"{{ 4294967296 * 4294967296 }}",
       "line 1, column 15: an integer needs more than 64 bits"},
      {"{{ 1e30 | int }}",
       "line 1, column 11: an integer needs more than 64 bits"},
      {"{% for f in [] %}{% endfor %}{{ f() }}",
       "line 1, column 33: 'f' is undefined"},
      {"{% set x = 5 %}{{ x() }}", "line 1, column 19: a int cannot be called"},
      {"{% for x in 5 %}{% endfor %}",
       "line 1, column 13: a int has no items to go through"},
      {"{% set a, b = [1] %}", "line 1, column 8: 1 values for 2 names"},
      {"{% set x.y = 1 %}", "line 1, column 8: 'x' is not a namespace"},
      {"{{ [].append(1) }}",
       "line 1, column 7: a template may not change a list"},
      {"{{ range(3) }}", "line 1, column 4: a range or a view of a dict cannot "
                         "be printed; make a list of it"},
      {"{{ namespace() }}", "line 1, column 4: a namespace cannot be printed"},
      {"{{ [] | map('upper') }}",
       "line 1, column 9: a generator cannot be printed"},
      {"{{ x | tojson }}",
       "line 1, column 8: 'x' is undefined, so it cannot be written as JSON"},
      {"{{ range(200000) }}",
       "line 1, column 4: a range has more than 100000 items"},
      {"{{ range(1.5) }}",
       "line 1, column 4: range's argument must be an integer, not float"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
       "line 1, column 34: macro 'm' does not take 2 arguments"},
      {"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
       "line 1, column 34: macro 'm' has no argument 'b'"},
      {"{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
       "line 1, column 22: parameter 'a' was not provided"},
      {"{% set ns = namespace() %}{% macro m() %}{% set ns.c = caller %}"
       "{% endmacro %}{% call m() %}{% endcall %}{% set f = ns.c %}{{ f() }}",
       "line 1, column 127: caller() is called after the end of its block"},
      {"{{ strftime_now('%Y' * 51) }}",
       "line 1, column 4: strftime_now takes a format of at most 100 bytes"},
      {"{{ strftime_now('%100000Y') }}",
       "line 1, column 4: strftime_now: the result is longer than 1 KiB"},
      {"{{ [1] | sort(attribute='a,b') }}",
       "line 1, column 10: sorting by several attributes is not supported"},
  };
  for (const auto &[source, message] : table)
    EXPECT_EQ(render(source), "chat template: " + message) << source;
}

TEST(Render, TellsWhatTheTemplateRaised) {
  auto raisedBy = [](std::string_view source) {
    Expected<ChatTemplate> chat = ChatTemplate::compile(source);
    EXPECT_TRUE(chat.ok()) << chat.status().message();
    std::optional<std::string> raised;
    EXPECT_FALSE(chat->render({}, {}, &raised).ok());
    return raised;
  };
  EXPECT_EQ(raisedBy("{{ raise_exception('Roles\nmust ' ~ 'alternate') }}"),
            "Roles\nmust alternate");
  EXPECT_EQ(raisedBy("{{ raise_exception('') }}"), "");
  EXPECT_EQ(raisedBy("{{ {}['the template raised: x'].y }}"), std::nullopt);
  EXPECT_EQ(raisedBy("{{ raise_exception(1, 2) }}"), std::nullopt);
  // Long messages are truncated between characters.
  EXPECT_EQ(raisedBy("{{ raise_exception('a' + 'é' * 1000) }}")->size(),
            999u + 3u);
  EXPECT_LT(render("{{ none['" + std::string(5000, 'a') + "'].b }}").size(),
            1100u);
}

TEST(Render, FindsTheFormsOfContent) {
  const std::tuple<std::string, bool, bool> table[] = {
      {"{% for m in messages %}{{ m.content }}{% endfor %}", true, false},
      {"{{ messages[0].content | tojson }}", true, false},
      {"{{ 'User: ' + messages[0].content }}", true, false},
      {"{% for p in messages[0].content %}{{ p.text }}{% endfor %}", false,
       true},
      {"{% set c = messages[0].content %}{% if c is string %}{{ c }}"
       "{% else %}{{ c[0].text }}{% endif %}",
       true, true},
      {"{{ raise_exception('no system message') }}", true, false},
  };
  for (const auto &[source, text, parts] : table) {
    ContentForms forms = ChatTemplate::compile(source)->contentForms();
    EXPECT_EQ(forms.text, text) << source;
    EXPECT_EQ(forms.parts, parts) << source;
  }
}

TEST(Render, GivesTheTemplateItsVariables) {
  ChatInput input;
  EXPECT_EQ(render("{{ messages }} {{ tools }} {{ documents }} {{ bos_token is "
                   "defined }} {{ add_generation_prompt }}",
                   input),
            "[] None None False True");
  input.messages = {{{"role", "user"}, {"content", "Hi"}}};
  input.tools = ordered_json::array({{{"z", 1}, {"a", 2}}});
  input.addGenerationPrompt = false;
  input.bosToken = "<s>";
  input.eosToken = "</s>";
  input.variables = {{"documents", {1}}, {"eos_token", "<end>"}};
  EXPECT_EQ(render("{{ messages[0].content }} {{ tools | tojson }} "
                   "{{ documents }} {{ bos_token ~ eos_token }} "
                   "{{ add_generation_prompt }}",
                   input),
            "Hi [{\"z\": 1, \"a\": 2}] [1] <s><end> False");
}

TEST(Render, ChecksItsInput) {
  auto errorOf = [](auto change) {
    ChatInput input;
    change(input);
    return render("x", input);
  };
  EXPECT_EQ(errorOf([](ChatInput &input) { input.messages = "text"; }),
            "chat template: the messages are not a list");
  EXPECT_EQ(errorOf([](ChatInput &input) { input.tools = {{"a", 1}}; }),
            "chat template: the tools are not a list");
  EXPECT_EQ(errorOf([](ChatInput &input) { input.variables = "x"; }),
            "chat template: the variables are not an object");
  EXPECT_EQ(
      errorOf([](ChatInput &input) { input.variables = {{"messages", "x"}}; }),
      "chat template: 'messages' is not a variable that can be set");
  auto nestTools = [](size_t depth) {
    ordered_json json = ordered_json::array();
    for (size_t i = 1; i < depth; ++i)
      json = ordered_json::array({std::move(json)});
    return json;
  };
  EXPECT_EQ(errorOf([&](ChatInput &input) { input.tools = nestTools(100); }),
            "x");
  EXPECT_EQ(errorOf([&](ChatInput &input) { input.tools = nestTools(101); }),
            "chat template: values nest deeper than 100 levels");
  EXPECT_EQ(errorOf([&](ChatInput &input) { input.tools = nestTools(5000); }),
            "chat template: the input nests deeper than 100 levels");
}

TEST(Render, ReplacesBytesThatAreNotUtf8) {
  ChatInput input;
  input.messages = {{{"role", "us\xFF"}, {"k\xFE", "b\xC3"}}};
  input.bosToken = "\x80";
  EXPECT_EQ(render("{{ bos_token }}{{ messages[0] | tojson }}", input),
            "\uFFFD{\"role\": \"us\uFFFD\", \"k\uFFFD\": \"b\uFFFD\"}");
}

TEST(Render, KeepsTheClocksTime) {
  ChatInput input;
  EXPECT_EQ(render("{{ strftime_now('%Y') | int > 2024 }}", input), "True");
  input.now = 0;
  EXPECT_EQ(render("{{ strftime_now('%Y') in ['1969', '1970'] }}", input),
            "True");
}

TEST(Render, IsSafeInSeveralThreads) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(
      "{% macro m(x) %}{{ x ~ '!' }}{% endmacro %}"
      "{% for x in messages %}{{ m(x.content) }}{% endfor %}{{ 'é' * 3 }}");
  ASSERT_TRUE(chat.ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([chat = *chat, i] {
      ChatInput input;
      input.messages = {{{"content", i}}};
      for (int round = 0; round < 200; ++round)
        EXPECT_EQ(*chat.render(input), std::to_string(i) + "!ééé");
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
