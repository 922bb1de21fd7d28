//===- JsonBodyTest.cpp - parsing of untrusted JSON -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/JsonBody.h"

#include <ctime>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::openai;

namespace {

std::string refusal(std::string_view text, RequestLimits limits = {},
                    std::string_view path = "") {
  ApiExpected<text::JsonTree> value = parseJson(text, limits, path);
  if (value)
    return "accepted";
  return std::to_string(value.error().status) + " " + value.error().param +
         ": " + value.error().message;
}

std::string dump(std::string_view text) {
  ApiExpected<text::JsonTree> value = parseJson(text, {});
  return value ? dumpJson(value->root()) : value.error().message;
}

TEST(JsonBodyTest, ReadsEveryKindOfValue) {
  const char *text = R"({"b":[1,-2,3.5,1e3,true,false,null,"\u00e9\n"],)"
                     R"("a":{},"c":[],"d":18446744073709551615})";
  EXPECT_EQ(dump(text), "{\"b\":[1,-2,3.5,1000.0,true,false,null,\"é\\n\"],"
                        "\"a\":{},\"c\":[],\"d\":18446744073709551615}");
}

TEST(JsonBodyTest, TheLastOfTwoMembersCounts) {
  EXPECT_EQ(dump(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  // The rule also holds for so many members that the parser uses another
  // lookup.
  std::string text = "{";
  for (int i = 0; i < 100; ++i)
    text += "\"k" + std::to_string(i % 50) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  ApiExpected<text::JsonTree> value = parseJson(text, {});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->root().size(), 50u);
  EXPECT_EQ(value->root()["k0"], 50);
  EXPECT_EQ(value->root()["k49"], 99);
}

TEST(JsonBodyTest, RefusesWhatIsNotJson) {
  EXPECT_EQ(refusal("{\"a\":}"), "400 : the body is not JSON: byte 6 is wrong");
  EXPECT_EQ(refusal("{\"a\":1"), "400 : the body is not JSON: byte 7 is wrong");
  EXPECT_EQ(refusal("{} x"), "400 : the body is not JSON: byte 4 is wrong");
  EXPECT_EQ(refusal("{\"a\": NaN}"),
            "400 : the body is not JSON: byte 7 is wrong");
  EXPECT_EQ(refusal("{\"a\": -Infinity}"),
            "400 : the body is not JSON: byte 8 is wrong");
  EXPECT_EQ(refusal("'x'", {}, "guided_json"),
            "400 guided_json: 'guided_json' is not JSON: byte 1 is wrong");
  EXPECT_EQ(refusal("{\"a\":\"\xFF\"}"), "400 : the body is not UTF-8");
  EXPECT_EQ(refusal(std::string_view("{}\0 x", 5)),
            "400 : the body is not JSON: byte 3 is wrong");
  // A lone surrogate is not a character.
  EXPECT_TRUE(refusal(R"("\ud800")").starts_with("400 : the body is not JSON"));
}

TEST(JsonBodyTest, NamesTheFieldOfANumberThatIsTooLarge) {
  EXPECT_EQ(refusal(R"({"temperature": 1e999})"),
            "400 temperature: 'temperature' is a number that is too large: "
            "1e999");
  EXPECT_EQ(refusal(R"({"a": [1, {"b": -2e400}]})"),
            "400 a[1].b: 'a[1].b' is a number that is too large: -2e400");
}

TEST(JsonBodyTest, KeepsToItsLimits) {
  RequestLimits limits;
  limits.bodyBytes = 10;
  EXPECT_EQ(refusal("[1,2,3,4,5]", limits),
            "413 : the body has 11 bytes, more than 10");
  limits = {};
  limits.depth = 3;
  EXPECT_EQ(refusal("[{\"a\":[]}]", limits), "accepted");
  EXPECT_EQ(refusal("[{\"a\":[[]]}]", limits),
            "400 : the body has more than 3 objects and arrays in each other");
  limits = {};
  limits.values = 4;
  EXPECT_EQ(refusal("[1,2,3]", limits), "accepted");
  EXPECT_EQ(refusal("[1,2,[3]]", limits),
            "400 : the body has more than 4 values");
  EXPECT_EQ(refusal(std::string(1 << 20, '['), {}),
            "400 : the body has more than 64 objects and arrays in each other");
}

TEST(JsonBodyTest, TakesLittleMoreMemoryThanItsText) {
  RequestLimits limits;
  limits.smallTreeBytes = 1000;
  const std::string refused =
      "413 : the body has so many small values that they take more than 3 "
      "times its size in memory";
  auto many = [](std::string_view value) {
    std::string text = "[";
    for (int i = 0; i < 10'000; ++i)
      text.append(value) += ',';
    text.back() = ']';
    return text;
  };
  EXPECT_EQ(refusal(many("[]"), limits), refused);
  EXPECT_EQ(refusal(many("{\"a\":{}}"), limits), refused);
  EXPECT_EQ(refusal(many("\"\""), limits), refused);
  EXPECT_EQ(refusal(many("1"), limits), refused);
  EXPECT_EQ(refusal(many("[]")), "accepted"); // the text is small
  const std::string text(100, 'x');
  EXPECT_EQ(refusal(many('"' + text + '"'), limits), "accepted");
  EXPECT_EQ(refusal("{\"" + text + "\":\"" + text + "\"}", limits), "accepted");
}

// The time must not grow with the square of the number of members.
TEST(JsonBodyTest, ReadsManyMembersQuickly) {
  std::string text = "{";
  for (int i = 0; i < 65536; ++i)
    text += "\"key" + std::to_string(i) + "\":0,";
  text.back() = '}';
  const std::clock_t start = std::clock(); // of the processor's time
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  text.back() = ',';
  EXPECT_EQ(refusal(text + "\"one more\":0}"),
            "400 : an object has more than 65536 members");
}

TEST(JsonBodyTest, ABodyIsAnObject) {
  auto body = [](std::string_view text) {
    ApiExpected<text::JsonTree> value = parseBody(text, {});
    return value ? "accepted" : value.error().message;
  };
  EXPECT_EQ(body("{}"), "accepted");
  EXPECT_EQ(body(""), "the body is empty; it must be a JSON object");
  EXPECT_EQ(body("[]"), "the body is an array, not an object");
  EXPECT_EQ(body("3"), "the body is an integer, not an object");
}

} // namespace
