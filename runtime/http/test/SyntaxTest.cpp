//===- SyntaxTest.cpp - tests of the parts of HTTP's grammar --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice::http;
using namespace sluice::http::server;
using testing::ElementsAre;
using testing::Pair;

static Request read(std::string target, bool &ok, std::string method = "GET") {
  Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  ok = readTarget(request);
  return request;
}

TEST(Syntax, ComparesLettersInAnyCase) {
  EXPECT_TRUE(equalsIgnoringCase("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(equalsIgnoringCase("a", "ab"));
  EXPECT_FALSE(equalsIgnoringCase("[", "{")); // differ by 0x20, like letters
}

TEST(Syntax, KnowsTokens) {
  EXPECT_TRUE(isToken("X-1_a.b~!"));
  for (const char *text : {"", "a b", "a:", "a\r", "\xc3\xa4", "a\"", "(a)"})
    EXPECT_FALSE(isToken(text)) << text;
}

TEST(Syntax, SplitsLists) {
  EXPECT_THAT(splitList(" a ,\tb,, c d ,"), ElementsAre("a", "b", "c d"));
  EXPECT_THAT(splitList(" , "), ElementsAre());
}

TEST(Syntax, KnowsHosts) {
  for (const char *text : {"a.example:80", "[::1]:8080", "127.0.0.1", ""})
    EXPECT_TRUE(isHost(text)) << text;
  for (const char *text : {"a b", "a/b", "user@a", "a?", "\xc3\xa4"})
    EXPECT_FALSE(isHost(text)) << text;
}

TEST(Syntax, DecodesTargets) {
  bool ok = false;
  Request request = read("/a%20b/%C3%a4+?x=1+2%21&y&=z&&x=%3D=&%26=", ok);
  EXPECT_TRUE(ok);
  EXPECT_EQ(request.path, "/a b/\xc3\xa4+");
  EXPECT_THAT(request.query,
              ElementsAre(Pair("x", "1 2!"), Pair("y", ""), Pair("", "z"),
                          Pair("x", "=="), Pair("&", "")));
  EXPECT_EQ(*request.parameter("x"), "1 2!");
  EXPECT_EQ(request.parameter("X"), nullptr);
}

TEST(Syntax, ReadsAllFormsOfTargets) {
  struct {
    const char *target, *path;
    size_t parameters;
  } cases[] = {
      {"/", "/", 0},
      {"/?", "/", 0},
      {"//a", "//a", 0},
      {"/a?b?c", "/a", 1},
      {"http://host", "/", 0},
      {"HTTP://host:80/a?b", "/a", 1},
      {"https://[::1]:80?b", "/", 1},
  };
  for (const auto &[target, path, parameters] : cases) {
    bool ok = false;
    Request request = read(target, ok);
    EXPECT_TRUE(ok) << target;
    EXPECT_EQ(request.path, path);
    EXPECT_EQ(request.query.size(), parameters) << target;
  }
  bool ok = false;
  EXPECT_EQ(read("*", ok, "OPTIONS").path, "*");
  EXPECT_TRUE(ok);
}

TEST(Syntax, RefusesOtherTargets) {
  for (const char *target :
       {"*", "", "a", "host:80", "ftp://host/", "http://", "http:///a",
        "http://a b/", "http://a@b/", "/%", "/%4", "/%4g", "/%00", "/a#b",
        "/\xc3\xa4", "/\x7f", "/a?%", "/a?b=%g0", "://a"}) {
    bool ok = true;
    read(target, ok);
    EXPECT_FALSE(ok) << target;
  }
}
