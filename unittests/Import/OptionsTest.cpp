//===- OptionsTest.cpp - tests of reading options -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GGUFBytes.h"

#include "sluice/Import/Model/Options.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

using namespace sluice;
using importer::Options;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns the error after `read` has read the JSON object.
std::string error(const json &object,
                  const std::function<void(Options &)> &read) {
  Options options = Options::fromJSON("c.json", object);
  read(options);
  return options.finish().message();
}

TEST(Options, ReadsEachKind) {
  Options options = Options::fromJSON("c.json", {{"n", 3},
                                                 {"zero", 0},
                                                 {"x", 1.5},
                                                 {"b", true},
                                                 {"s", "t"},
                                                 {"ids", {1, 2}},
                                                 {"names", {"p", "q"}},
                                                 {"same", {4, 4}},
                                                 {"inner", {{"k", 7}}},
                                                 {"nothing", nullptr}});
  EXPECT_EQ(options.count("n"), 3);
  EXPECT_EQ(options.natural("zero"), 0);
  EXPECT_EQ(options.number("x"), 1.5);
  EXPECT_EQ(options.number("n"), 3.0);
  EXPECT_TRUE(options.flag("b", false));
  EXPECT_EQ(options.text("s"), "t");
  EXPECT_THAT(options.naturals("ids"), ElementsAre(1, 2));
  EXPECT_THAT(options.naturals("n"), ElementsAre(3));
  EXPECT_THAT(options.texts("names"), ElementsAre("p", "q"));
  EXPECT_EQ(options.uniformCount("same"), 4);
  EXPECT_EQ(options.table("inner").count("k"), 7);
  EXPECT_EQ(options.count("nothing", 5), 5);
  EXPECT_TRUE(options.isGiven("nothing"));
  EXPECT_FALSE(options.has("nothing"));
  EXPECT_EQ(options.count("absent", 6), 6);
  EXPECT_EQ(options.finish().message(), "");
}

TEST(Options, NamesTheFirstBadValue) {
  EXPECT_EQ(error({{"n", 0}}, [](Options &o) { o.count("n"); }),
            "c.json: 'n': expected an integer from 1 to 2147483647, found 0");
  EXPECT_THAT(error({{"n", 2147483648}}, [](Options &o) { o.count("n"); }),
              HasSubstr("found 2147483648"));
  EXPECT_THAT(error({{"n", 1.0}}, [](Options &o) { o.count("n"); }),
              HasSubstr("expected an integer"));
  EXPECT_THAT(error({{"n", "x"}}, [](Options &o) { o.number("n"); }),
              HasSubstr("expected a finite number, found 'x'"));
  EXPECT_THAT(error({{"n", 1}}, [](Options &o) { o.flag("n", false); }),
              HasSubstr("expected true or false, found 1"));
  EXPECT_THAT(error({{"n", {1}}}, [](Options &o) { o.text("n"); }),
              HasSubstr("expected a string, found a list"));
  EXPECT_THAT(error({{"n", 1}}, [](Options &o) { o.table("n"); }),
              HasSubstr("expected a table, found 1"));
  EXPECT_THAT(error({{"n", {1, 2}}}, [](Options &o) { o.uniformCount("n"); }),
              HasSubstr("layers of different sizes"));
  EXPECT_THAT(error({{"n", {1, -2}}}, [](Options &o) { o.naturals("n"); }),
              HasSubstr("found -2"));
  EXPECT_EQ(error(json::object(),
                  [](Options &o) {
                    o.count("first");
                    o.count("second");
                  }),
            "c.json: 'first': missing");
}

TEST(Options, RefusesKeysThatNobodyAskedFor) {
  EXPECT_EQ(error({{"off", false}, {"none", nullptr}}, [](Options &) {}), "");
  EXPECT_THAT(error({{"on", true}}, [](Options &) {}),
              HasSubstr("c.json: 'on': unknown option (its value true"));
  EXPECT_THAT(error({{"t", {{"k", 1}}}}, [](Options &o) { o.table("t"); }),
              HasSubstr("c.json: 't': 'k': unknown option"));
  EXPECT_EQ(error({{"k", 1}}, [](Options &o) { o.ignore({"k"}); }), "");
}

TEST(Options, RefusesOtherValuesThanTheOneSupported) {
  EXPECT_THAT(
      error({{"k", true}}, [](Options &o) { o.mustBeFlag("k", false); }),
      HasSubstr("'k': true is not supported"));
  EXPECT_THAT(error({{"k", 2}}, [](Options &o) { o.mustBeNumber("k", 1); }),
              HasSubstr("'k': 2 is not supported (only 1 is)"));
  EXPECT_THAT(error({{"k", "a"}}, [](Options &o) { o.mustBeText("k", "b"); }),
              HasSubstr("'k': 'a' is not supported (only 'b' is)"));
}

TEST(Options, ReadsGGUFMetadata) {
  GGUFBytes bytes(0, 4);
  bytes.u32("llama.n", 3)
      .f32("llama.x", 0.5f)
      .text("other.n", "y")
      .key("llama.list", gguf::ValueType::Array)
      .number(uint32_t(gguf::ValueType::Int32))
      .number(uint64_t(2))
      .number(int32_t(8))
      .number(int32_t(8));
  Expected<gguf::GGUFFile> file = bytes.parse();
  ASSERT_TRUE(file) << file.status().message();
  Options options = Options::fromGGUF(*file, "llama.");
  EXPECT_EQ(options.count("n"), 3);
  EXPECT_EQ(options.uniformCount("list"), 8);
  EXPECT_THAT(options.finish().message(),
              HasSubstr("m.gguf: llama.*: 'x': unknown option"));
}

} // namespace
