//===- AnswerTest.cpp - tests of answers in one piece ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

using namespace sluice::http;
using namespace sluice::http::test;
using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Answer, HasWhatWasGiven) {
  TestServer server;
  TestClient client(server.port());
  client.send(post("/x", "question"));
  auto exchange = server.next();
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->request().body, "question");
  EXPECT_EQ(exchange->request().peerAddress, "127.0.0.1");
  EXPECT_NE(exchange->request().peerPort, 0);
  exchange->reply(201, {{"X-A", "1"}, {"X-A", "2"}}, "answer");
  EXPECT_THAT(
      client.readUntil("answer"),
      MatchesRegex("HTTP/1\\.1 201 Created\r\n"
                   "Date: [A-Z][a-z][a-z], [0-9]+ [A-Z][a-z]+ 20[0-9]+ "
                   "[0-9]+:[0-9]+:[0-9]+ GMT\r\n"
                   "X-A: 1\r\nX-A: 2\r\nContent-Length: 6\r\n\r\nanswer"));
}

TEST(Answer, CanBeGivenByAnyThread) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  std::thread([exchange = server.next()] {
    exchange->reply(200, {}, "from a thread");
  }).join();
  EXPECT_EQ(client.read().body, "from a thread");
}

TEST(Answer, CannotBreakTheFraming) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  server.next()->reply(200,
                       {{"X-A", "a\r\nX-B: b\x01"},
                        {"X C", "c"},
                        {"", "d"},
                        {"content-length", "1"},
                        {"Transfer-Encoding", "chunked"},
                        {"Connection", "close"},
                        {"date", "today"}},
                       "body");
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.field("X-A"), "a??X-B: b?");
  EXPECT_EQ(answer.field("X-B"), "");
  EXPECT_EQ(answer.field("Content-Length"), "4");
  EXPECT_EQ(answer.field("Connection"), "");
  EXPECT_THAT(answer.field("Date"), HasSubstr("GMT"));
  EXPECT_EQ(answer.fields.size(), 3u);
  EXPECT_EQ(answer.body, "body");
}

TEST(Answer, LeavesTheBodyOutWhereNoneBelongs) {
  TestServer server;
  TestClient client(server.port());
  client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  server.next()->reply(200, {}, "0123456789");
  EXPECT_EQ(client.read(/*isHead=*/true).field("Content-Length"), "10");
  client.send(get("/x"));
  server.next()->reply(204, {}, "nothing of this");
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.field("Content-Length"), "");
  client.send(get("/x"));
  server.next()->reply(304, {}, "nor of this");
  EXPECT_EQ(client.read().status, 304);
  client.send(get("/echo")); // no bytes are left in between
  EXPECT_EQ(client.read().body, "GET /echo ");
}

TEST(Answer, CountsOnce) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  auto exchange = server.next();
  exchange->reply(200, {}, "first");
  exchange->reply(200, {}, "second");
  exchange->fail(500, "third");
  EXPECT_FALSE(exchange->startStream(200, {}));
  EXPECT_FALSE(exchange->write("fourth"));
  exchange->endStream();
  EXPECT_EQ(client.read().body, "first");
  client.send(get("/echo"));
  EXPECT_EQ(client.read().body, "GET /echo ");
}

TEST(Answer, ReportsErrors) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  server.next()->fail(429, "too busy", {{"Retry-After", "1"}});
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.field("Content-Type"), "text/plain");
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.body, "too busy\n");
  EXPECT_EQ(answer.field("Connection"), "");
}

/// Refused requests are answered by onRefusal in the format of the API; it sees
/// what is known of the request.
TEST(Answer, RefusalsAreAnsweredInTheFormatOfTheApi) {
  ServerOptions options = testOptions();
  options.bodyBytes = 4;
  options.onRefusal = [](const std::shared_ptr<Exchange> &exchange, int status,
                         std::string_view message) {
    const Request &request = exchange->request();
    const std::string *origin = request.field("Origin");
    exchange->reply(status,
                    {{"Content-Type", "application/json"},
                     {"Connection", "keep-alive"},
                     {"X-Origin", origin ? *origin : "none"},
                     {"X-Method", request.method},
                     {"X-Target", request.target}},
                    "{" + std::to_string(status) + ":" + std::string(message) +
                        "}");
  };
  TestServer server(options);
  auto answerTo = [&](const std::string &bytes, bool isHead = false) {
    TestClient client(server.port());
    client.send(bytes);
    ReadAnswer answer = client.read(isHead);
    EXPECT_EQ(answer.field("Content-Type"), "application/json");
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_TRUE(answer.complete);
    EXPECT_TRUE(client.closedByServer());
    return answer;
  };
  ReadAnswer answer = answerTo("x\r\n\r\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("{400:malformed request"));
  EXPECT_EQ(answer.field("X-Method"), "");
  answer = answerTo(post("/x?a=1", "12345", "Origin: http://a\r\n"));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "{413:body of more than 4 bytes}");
  EXPECT_EQ(answer.field("X-Origin"), "http://a");
  EXPECT_EQ(answer.field("X-Method"), "POST");
  EXPECT_EQ(answer.field("X-Target"), "/x?a=1");
  // The handler does not see a target that is not valid.
  answer = answerTo("HEAD /%00 HTTP/1.1\r\nHost: x\r\n\r\n", true);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.field("X-Method"), "HEAD");
  EXPECT_EQ(answer.field("X-Target"), "");
  EXPECT_TRUE(eventually([&] { return server.server->open() == 0; }));
}

/// The client gets the answer even if it has closed its sending side.
TEST(Answer, ARefusalReachesAClientThatSendsNoMore) {
  TestServer server;
  for (int i = 0; i < 20; ++i) {
    TestClient client(server.port());
    client.send("x\r\n\r\n");
    client.shutdownWrite();
    EXPECT_EQ(client.read().status, 400);
  }
}

TEST(Answer, IsAnErrorWhereNobodyAnswers) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  server.next().reset();
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "the request was dropped without an answer\n");
  client.send(get("/echo"));
  EXPECT_EQ(client.read().status, 200);
}

TEST(Answer, IsAnErrorWhereTheHandlerThrows) {
  auto made =
      Server::create(testOptions(), [](const std::shared_ptr<Exchange> &) {
        throw std::runtime_error("not by this project");
      });
  ASSERT_TRUE(made);
  ASSERT_TRUE((*made)->start().ok());
  TestClient client((*made)->port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/x"));
    EXPECT_EQ(client.read().status, 500);
  }
}

TEST(Answer, MayBeLarge) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  std::string body;
  for (int i = 0; body.size() < 20'000'000; ++i)
    body += std::to_string(i);
  server.next()->reply(200, {}, body);
  EXPECT_EQ(client.read().body, body);
}

TEST(Answer, SuitsHttp10) {
  TestServer server;
  {
    TestClient client(server.port());
    client.send("GET /echo HTTP/1.0\r\n\r\n");
    ReadAnswer answer = client.read();
    EXPECT_EQ(answer.body, "GET /echo ");
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_TRUE(client.closedByServer());
  }
  TestClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    ReadAnswer answer = client.read();
    EXPECT_EQ(answer.body, "GET /echo ");
    EXPECT_EQ(answer.field("Connection"), "keep-alive");
  }
}

TEST(Answer, MovesTheBodyOut) {
  ServerOptions options = testOptions();
  options.bodyBytes = 1000;
  options.allBodyBytes = 2000;
  TestServer server(options);
  std::string body(600, 'x');
  TestClient one(server.port()), two(server.port()), three(server.port());
  one.send(post("/x", body));
  auto first = server.next();
  ASSERT_TRUE(first);
  two.send(post("/x", body)); // both together exceed the limit
  EXPECT_EQ(two.read().status, 503);
  EXPECT_EQ(first->takeBody(), body);
  EXPECT_EQ(first->request().body, "");
  three.send(post("/echo", body));
  EXPECT_EQ(three.read().status, 200);
}
