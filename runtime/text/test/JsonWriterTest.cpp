//===- JsonWriterTest.cpp - tests that written JSON reads back ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/JsonWriter.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

using namespace sluice::text;

namespace {

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.beginObject();
  json.key("a").number(int64_t(-1));
  json.key("b").beginArray();
  json.string("x\"\n");
  json.beginObject();
  json.endObject();
  json.null();
  json.endArray();
  json.key("c").boolean(true);
  json.endObject();
  EXPECT_EQ(json.text(), R"({"a": -1, "b": ["x\"\n", {}, null], "c": true})");
}

TEST(JsonWriterTest, FloatsReadBackExactly) {
  std::vector<float> values = {0.1f,           1.0f / 3, 1e-45f,
                               3.4028235e38f,  -0.0f,    16777217.0f,
                               1.17549435e-38f};
  JsonWriter json;
  json.numbers(std::span<const float>(values));
  nlohmann::json back = nlohmann::json::parse(json.text());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(float(back[i].get<double>()), values[i]);
}

TEST(JsonWriterTest, CompactDoublesReadBackExactly) {
  JsonWriter json(JsonWriter::Style::Compact);
  json.beginObject();
  json.key("a").number(-1.0);
  json.key("b").numbers(std::span<const double>({{0.1, -1e-300, 2e22}}));
  json.endObject();
  EXPECT_EQ(json.text(), R"({"a":-1.0,"b":[0.1,-1e-300,2e+22]})");
}

TEST(JsonWriterTest, EscapesAsNlohmannDoes) {
  std::string all;
  for (int c = 0; c < 128; ++c)
    all += static_cast<char>(c);
  all += "\u00e9\u2028\U0001f600";
  for (const std::string &text : {all, std::string("a\xc3"), std::string()}) {
    JsonWriter json;
    json.string(text);
    EXPECT_EQ(json.text(),
              nlohmann::json(text).dump(
                  -1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

TEST(JsonWriterTest, WhatJsonCannotSay) {
  JsonWriter json;
  json.beginArray();
  json.number(HUGE_VALF);
  json.number(std::nan(""));
  json.string("\xff");
  json.endArray();
  EXPECT_EQ(json.text(), "[null, null, \"\xef\xbf\xbd\"]");
}

} // namespace
