//===- JSONTest.cpp - tests of parsing JSON and of quoting ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Support/JSON.h"
#include "sluice/Import/Support/Quote.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace sluice;
using nlohmann::json;
using testing::HasSubstr;

namespace {

std::string error(std::string_view text) {
  return parseJSON(text).status().message();
}

TEST(JSON, BuildsTheSameTreeAsTheLibrary) {
  for (std::string_view text :
       {R"({"a":[1,-2,3.5,"x",null,true,{"b":[]},[[],{}]],"c":{"d":{}}})", "[]",
        "7", R"("\u00e9\n")", R"({"":{"":[{"":0}]}})",
        "18446744073709551615"}) {
    Expected<json> parsed = parseJSON(text);
    ASSERT_TRUE(parsed) << parsed.status().message();
    EXPECT_EQ(*parsed, json::parse(text));
  }
}

TEST(JSON, RefusesWhatIsMalformed) {
  EXPECT_THAT(error(""), HasSubstr("parse error at line 1, column 1"));
  EXPECT_THAT(error("{\n\"a\" 1}"), HasSubstr("parse error at line 2"));
  EXPECT_THAT(error("[1] 2"), HasSubstr("parse error"));
  EXPECT_THAT(error("[\"\xff\"]"), HasSubstr("UTF-8"));
  EXPECT_THAT(error("[1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(error(R"({"a":1,"b":2,"a":3})"), HasSubstr("'a' appears twice"));
  EXPECT_EQ(error(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_THAT(error(std::string(65, '[') + std::string(65, ']')),
              HasSubstr("deeper than 64"));
  EXPECT_THAT(error(std::string(1000000, '[')), HasSubstr("deeper than 64"));
  EXPECT_EQ(error("[\"a\nb\"]").find('\n'), std::string::npos);
}

TEST(JSON, RefusesFilesThatAreTooLarge) {
  EXPECT_THAT(readJSONFile(SLUICE_TEST_MODELS "/archs/llama/config.json", 16)
                  .status()
                  .message(),
              HasSubstr("/config.json: "));
}

TEST(Quote, MakesNamesSafeToPrint) {
  EXPECT_EQ(quote("blk.0"), "'blk.0'");
  EXPECT_EQ(quote("a\n'\\\x1b\xff"), "'a\\x0a\\x27\\x5c\\x1b\\xff'");
  EXPECT_EQ(quote(std::string(100, 'x')), "'" + std::string(80, 'x') + "...'");
}

} // namespace
