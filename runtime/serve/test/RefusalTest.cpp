//===- RefusalTest.cpp - requests that are refused before a handler -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

#include <map>
#include <sys/resource.h>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

namespace {

/// Requests that the HTTP server itself refuses get the same kind of answers as
/// others: in the API's format, readable by pages of other origins, counted and
/// logged.
class RefusalTest : public ServeTest {
protected:
  void start() {
    options.corsOrigins.emplace_back("https://page.example");
    options.maxBodyBytes = 1000;
    options.maxHeaderBytes = 4000;
    options.logRequests = true;
    testing::internal::CaptureStderr();
    ServeTest::start();
  }
  /// Stops the server and returns its log.
  std::string log() {
    server->stop(); // writes the remaining lines
    return testing::internal::GetCapturedStderr();
  }
  std::string answers(int status) {
    return metric("sluice:http_requests_total{code=\"" +
                  std::to_string(status) + "\"}");
  }
};

const std::string fromPage = "Origin: https://page.example\r\n";

} // namespace

TEST_F(RefusalTest, WhatHasAHeaderIsKnown) {
  start();
  struct Case {
    int status;
    std::string request, path;
  };
  const Case cases[] = {
      {413, http::test::post("/tokenize?x", std::string(2000, 'x'), fromPage),
       "POST /tokenize"},
      {417, http::test::get("/health", fromPage + "Expect: tea\r\n"),
       "GET /health"},
      {400,
       http::test::post("/tokenize", "x", fromPage + "Content-Length: 1\r\n"),
       "POST /tokenize"},
      {501,
       "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + fromPage +
           "Transfer-Encoding: gzip\r\n\r\n",
       "POST /v1/completions"},
  };
  for (const Case &one : cases) {
    ReadAnswer answer = ask(one.request);
    EXPECT_EQ(answer.status, one.status);
    errorOf(answer);
    EXPECT_EQ(answer.field("Access-Control-Allow-Origin"),
              "https://page.example")
        << one.status;
    EXPECT_EQ(answer.field("Vary"), "Origin");
    EXPECT_EQ(answers(one.status), "1");
  }
  std::string text = log();
  for (const Case &one : cases) {
    std::string line =
        "127.0.0.1 \"" + one.path + "\" " + std::to_string(one.status) + ' ';
    EXPECT_NE(text.find(line), text.npos) << line << "in\n" << text;
  }
}

TEST_F(RefusalTest, WhatCannotBeReadIsCountedAndLogged) {
  start();
  struct Case {
    int status;
    std::string request, what;
  };
  const Case cases[] = {
      {400, "\x16\x03\x01 no HTTP\r\n\r\n", "-"},
      {431, http::test::get("/health", "X: " + std::string(5000, 'x') + "\r\n"),
       "-"},
      {505, "GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n", "-"},
      {400, "BREW /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "BREW"},
  };
  std::map<int, int> counts;
  for (const Case &one : cases) {
    ReadAnswer answer = ask(one.request);
    EXPECT_EQ(answer.status, one.status);
    errorOf(answer);
    EXPECT_EQ(answer.field("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(answers(one.status), std::to_string(++counts[one.status]));
  }
  std::string text = log();
  for (const Case &one : cases) {
    std::string line =
        "127.0.0.1 \"" + one.what + "\" " + std::to_string(one.status) + ' ';
    EXPECT_NE(text.find(line), text.npos) << line << "in\n" << text;
  }
}

TEST_F(RefusalTest, ProbesAreAnsweredWhereThereAreTooManyConnections) {
  options.maxConnections = 1;
  start();
  auto one = send("/v1/completions", {{"prompt", "p"}});
  ASSERT_TRUE(engine.wait(0));
  for (const char *path : {"/health", "/metrics", "/version"})
    EXPECT_EQ(get(path).status, 200) << path;
  ReadAnswer answer = get("/v1/models");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(errorOf(answer)["message"], "too many connections");
  EXPECT_EQ(answers(503), "1");
  EXPECT_NE(log().find("127.0.0.1 \"GET /v1/models\" 503 "), std::string::npos);
}

TEST_F(RefusalTest, TheServerMayOpenAsManyFilesAsItsUser) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = {256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  options.maxConnections = 1 << 20;
  ServeTest::start();
  rlimit after = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  if (before.rlim_max > 1 << 20)
    GTEST_SKIP() << "so many files are no limit";
  const std::string files = std::to_string(before.rlim_max);
  ASSERT_EQ(server->warnings().size(), 1u);
  EXPECT_EQ(server->warnings()[0],
            "--max-connections 1048576: the process may have " + files +
                " files open (ulimit -Hn), so there will be about " +
                std::to_string(before.rlim_max - 128) + " connections");
}

/// Preflights are counted and logged like other requests.
TEST_F(RefusalTest, PreflightsAreCountedAndLogged) {
  start();
  EXPECT_EQ(ask("OPTIONS /tokenize HTTP/1.1\r\nHost: localhost\r\n" + fromPage +
                "Access-Control-Request-Method: POST\r\n\r\n")
                .status,
            204);
  EXPECT_EQ(answers(204), "1");
  EXPECT_NE(log().find("\"OPTIONS /tokenize\" 204 "), std::string::npos);
}

/// Each answer counts once, whichever code gives it.
TEST_F(RefusalTest, NothingIsCountedTwice) {
  start();
  engine.answerAll("ok");
  EXPECT_EQ(post("/v1/completions", {{"prompt", "p"}}).status, 200);
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(answers(404), "1");
  EXPECT_EQ(answers(500), "");
  EXPECT_EQ(answers(400), "");
  log();
}
