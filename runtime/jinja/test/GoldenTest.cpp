//===- GoldenTest.cpp - compares renderings with Jinja2's -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares renderings with those of Jinja2, which make_golden.py has made. The
// templates are written for these tests, with the constructs of the published
// templates after which they are named.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

namespace {

std::string readFile(const std::string &name) {
  std::ifstream file(std::string(SLUICE_CHAT_TEMPLATE_TESTS) + "/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ordered_json readJson(const std::string &name) {
  return ordered_json::parse(readFile(name));
}

/// Returns the time at which make_golden.py renders, in the local time zone.
std::time_t goldenTime() {
  std::tm local{};
  local.tm_year = 2026 - 1900;
  local.tm_mon = 0;
  local.tm_mday = 2;
  local.tm_hour = 3;
  local.tm_min = 4;
  local.tm_sec = 5;
  local.tm_isdst = -1;
  return std::mktime(&local);
}

/// Checks a rendering against a text, {"raised": text} or {"error": true}.
void expectRendering(const std::string &source, const ChatInput &input,
                     const ordered_json &expected) {
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  std::optional<std::string> raised;
  Expected<std::string> text = chat ? chat->render(input, {}, &raised)
                                    : Expected<std::string>(chat.status());
  if (expected.is_string()) {
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(*text, expected.get<std::string>());
    return;
  }
  ASSERT_FALSE(text.ok()) << "rendered: " << *text;
  if (expected.contains("raised"))
    EXPECT_EQ(raised, expected["raised"].get<std::string>());
  else
    EXPECT_EQ(raised, std::nullopt) << text.status().message();
}

TEST(Golden, Snippets) {
  ordered_json cases = readJson("cases.json");
  ordered_json golden = readJson("golden.json")["snippets"];
  ASSERT_EQ(cases["snippets"].size(), golden.size());
  ChatInput input;
  input.variables = cases["variables"];
  input.now = goldenTime();
  for (size_t i = 0; i < golden.size(); ++i) {
    std::string source = cases["snippets"][i];
    SCOPED_TRACE(source);
    expectRendering(source, input, golden[i]);
  }
}

TEST(Golden, Templates) {
  ordered_json conversations = readJson("cases.json")["conversations"];
  ordered_json golden = readJson("golden.json")["templates"];
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(
           std::string(SLUICE_CHAT_TEMPLATE_TESTS) + "/templates"))
    files += entry.path().extension() == ".jinja" ? 1 : 0;
  EXPECT_EQ(golden.size(), files) << "run make_golden.py";
  for (const auto &[name, expected] : golden.items()) {
    std::string source = readFile("templates/" + name);
    ASSERT_EQ(expected.size(), conversations.size());
    for (const ordered_json &conversation : conversations) {
      std::string title = conversation["name"];
      SCOPED_TRACE(name + ": " + title);
      ChatInput input;
      input.messages = conversation["messages"];
      input.tools = conversation.value("tools", ordered_json());
      input.variables = conversation.value("variables", ordered_json());
      input.addGenerationPrompt =
          conversation.value("add_generation_prompt", true);
      input.bosToken = "<s>";
      input.eosToken = "</s>";
      input.now = goldenTime();
      expectRendering(source, input, expected[title]);
    }
  }
}

} // namespace
