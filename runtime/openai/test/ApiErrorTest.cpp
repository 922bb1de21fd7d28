//===- ApiErrorTest.cpp - errors as JSON ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ApiError.h"

#include <gtest/gtest.h>

using namespace sluice::openai;

namespace {

// OpenAI's form: all four members, null if empty.
TEST(ApiErrorTest, IsWrittenAsOpenAIs) {
  ApiError missing{404, "The model `x` does not exist.", "model",
                   "model_not_found"};
  EXPECT_EQ(missing.json(),
            R"({"error":{"message":"The model `x` does not exist.",)"
            R"("type":"not_found_error","param":"model",)"
            R"("code":"model_not_found"}})");
  EXPECT_EQ(invalidField("", "a \"b\"\n").json(),
            R"({"error":{"message":"a \"b\"?",)"
            R"("type":"invalid_request_error","param":null,"code":null}})");
}

TEST(ApiErrorTest, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(invalidField("p\xFF", "m\xC3").json(),
            "{\"error\":{\"message\":\"m\xEF\xBF\xBD\","
            "\"type\":\"invalid_request_error\",\"param\":\"p\xEF\xBF\xBD\","
            "\"code\":null}}");
}

TEST(ApiErrorTest, TypesGoWithStatuses) {
  EXPECT_EQ(errorType(400), "invalid_request_error");
  EXPECT_EQ(errorType(401), "authentication_error");
  EXPECT_EQ(errorType(403), "permission_error");
  EXPECT_EQ(errorType(404), "not_found_error");
  EXPECT_EQ(errorType(405), "invalid_request_error");
  EXPECT_EQ(errorType(413), "invalid_request_error");
  EXPECT_EQ(errorType(429), "rate_limit_error");
  EXPECT_EQ(errorType(500), "server_error");
  EXPECT_EQ(errorType(503), "server_error");
}

} // namespace
