//===- LimitsTest.cpp - tests of a server's limits, over sockets ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

using namespace sluice::http;
using namespace sluice::http::test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Sends `bytes` and expects this status and the end of the connection.
static void expectRefusal(TestServer &server, std::string_view bytes,
                          int status) {
  TestClient client(server.port());
  client.send(bytes);
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, status) << bytes.substr(0, 200);
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_EQ(answer.field("Content-Type"), "text/plain");
  EXPECT_TRUE(answer.body.ends_with("\n"));
  EXPECT_TRUE(client.closedByServer());
}

TEST(Limits, EachRefusalHasItsStatus) {
  ServerOptions options = testOptions();
  options.bodyBytes = 1000;
  TestServer server(options);
  std::string start = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  expectRefusal(server, "GET\r\n\r\n", 400);
  expectRefusal(server, "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  expectRefusal(server, "GET / HTTP/1.1\r\n\r\n", 400);
  expectRefusal(server, "\x16\x03\x01\x02\x03", 400);
  expectRefusal(server,
                start + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"
                        "\r\n0\r\n\r\n",
                400);
  expectRefusal(server,
                start + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
                400);
  expectRefusal(server, start + "X: a\r\n b\r\n\r\n", 400);
  expectRefusal(server, start + "Content-Length: 1001\r\n\r\n", 413);
  expectRefusal(server,
                start + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
                413);
  expectRefusal(server, start + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n",
                413);
  expectRefusal(server, start + "Expect: 200-ok\r\n\r\n", 417);
  expectRefusal(server, start + "X: " + std::string(20000, 'x'), 431);
  expectRefusal(server, std::string(20000, 'x'), 431);
  expectRefusal(server, start + "Transfer-Encoding: gzip\r\n\r\n", 501);
  expectRefusal(server, "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
}

TEST(Limits, HeaderFloodsAreRefused) {
  TestServer server;
  TestClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n");
  std::thread sender([&] { // until the answer comes
    for (int i = 0; i < 1'000'000 && client.send("X: y\r\n"); ++i) {
    }
  });
  EXPECT_EQ(client.read().status, 431);
  client.shutdownWrite();
  sender.join();
}

TEST(Limits, AnswersToLargeBodiesArriveWhileTheClientSends) {
  ServerOptions options = testOptions();
  options.bodyBytes = 1000;
  TestServer server(options);
  TestClient client(server.port());
  std::string body(10'000'000, 'x');
  std::thread sender([&] { client.send(post("/echo", body)); });
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "body of more than 1000 bytes\n");
  sender.join();
}

/// More than the kernel buffers.
static constexpr size_t largeBytes = 40 << 20;

/// Lets the client ask for an answer of `largeBytes`.
static void answerLargely(TestServer &server, TestClient &client) {
  client.send(get("/x"));
  std::shared_ptr<Exchange> exchange = server.next();
  ASSERT_TRUE(exchange);
  exchange->reply(200, {}, std::string(largeBytes, 'x'));
}

/// A tenant's waiting answers may take as many bytes as are free; beyond that,
/// the slowest reader is cut off first.
TEST(Limits, TheSlowestReadersAreCutOff) {
  ServerOptions options = testOptions();
  options.allAnswerBytes = 120 << 20;
  TestServer server(options);
  TestClient slowest(server.port()), slow(server.port()), reads(server.port());
  answerLargely(server, slowest);
  std::this_thread::sleep_for(milliseconds(50));
  answerLargely(server, slow);
  slowest.readAll();
  EXPECT_TRUE(slowest.wasReset());
  answerLargely(server, reads);
  ReadAnswer answer = reads.read();
  EXPECT_EQ(answer.body.size(), largeBytes);
  slow.readAll();
  EXPECT_TRUE(slow.wasReset());
}

/// Readers of other tenants are not cut off, however slow they are.
TEST(Limits, SlowReadersOfOtherTenantsAreLetBe) {
  ServerOptions options = testOptions();
  options.allAnswerBytes = 160 << 20;
  TestServer server(options);
  TestClient other(server.port(), /*usesTls=*/false, "127.0.0.2");
  answerLargely(server, other);
  TestClient first(server.port()), second(server.port());
  answerLargely(server, first);
  answerLargely(server, second);
  first.readAll();
  EXPECT_TRUE(first.wasReset());
  EXPECT_EQ(other.read().body.size(), largeBytes);
  EXPECT_EQ(second.read().body.size(), largeBytes);
}

/// A byte from time to time is not enough.
TEST(Limits, AReaderOfAFewBytesIsCutOff) {
  ServerOptions options = testOptions();
  options.stallTimeout = milliseconds(300);
  options.slowestRate = 100 << 20;
  TestServer server(options);
  TestClient client(server.port());
  client.send(get("/x"));
  std::shared_ptr<Exchange> exchange = server.next();
  ASSERT_TRUE(exchange);
  exchange->reply(200, {}, std::string(40 << 20, 'x'));
  std::string part(1 << 16, '\0');
  ssize_t count = 1;
  while (count > 0) {
    count = recv(client.socket, part.data(), part.size(), 0);
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LT(count, 0);
}

/// The handler answers from the header only.
TEST(Limits, ABodyThatIsNotWantedIsNotRead) {
  ServerOptions options = testOptions();
  options.wantsBody = [](const Request &request) {
    return !request.field("X-Unwanted");
  };
  TestServer server(options);
  const std::string start = "POST /echo HTTP/1.1\r\nHost: a\r\n"
                            "Content-Length: 1000000\r\n";
  for (const char *more : {"", "Expect: 100-continue\r\n"}) {
    TestClient client(server.port());
    client.send(start + more + "X-Unwanted: 1\r\n\r\nabc");
    ReadAnswer answer = client.read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /echo ");
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_TRUE(client.closedByServer());
  }
  TestClient wanted(server.port());
  wanted.send(start + "\r\n" + std::string(1'000'000, 'x'));
  EXPECT_EQ(wanted.read().status, 200);
}

TEST(Limits, SlowHeadersAreTimedOut) {
  ServerOptions options = testOptions();
  options.headerTimeout = milliseconds(200);
  TestServer server(options);
  TestClient client(server.port());
  auto begin = steady_clock::now();
  std::thread sender([&] { // each byte is in time, but not all
    for (char c : get("/echo", "X: 0123456789\r\n")) {
      client.send({&c, 1});
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.body, "the header has not come in time\n");
  EXPECT_GE(steady_clock::now() - begin, milliseconds(200));
  sender.join();
}

TEST(Limits, SlowBodiesAreTimedOut) {
  ServerOptions options = testOptions();
  options.bodyTimeout = milliseconds(200);
  TestServer server(options);
  TestClient client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
  std::thread sender([&] {
    for (int i = 0; i < 20; ++i) {
      client.send("x");
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.body, "the body has not come in time\n");
  sender.join();
}

TEST(Limits, SilentConnectionsAreClosed) {
  ServerOptions options = testOptions();
  options.headerTimeout = milliseconds(100);
  options.idleTimeout = milliseconds(150);
  TestServer server(options);
  TestClient silent(server.port()), empty(server.port()), idle(server.port());
  empty.send("\r\n\r\n"); // empty lines are not a request
  EXPECT_TRUE(silent.closedByServer());
  EXPECT_TRUE(empty.closedByServer());

  TestClient second(server.port());
  auto begin = steady_clock::now();
  second.send(get("/echo"));
  EXPECT_EQ(second.read().status, 200);
  EXPECT_TRUE(second.closedByServer());
  EXPECT_GE(steady_clock::now() - begin, milliseconds(150));
}

TEST(Limits, AnswersMayTakeTheirTime) {
  ServerOptions options = testOptions();
  options.headerTimeout = options.bodyTimeout = options.idleTimeout =
      options.stallTimeout = milliseconds(50);
  TestServer server(options);
  TestClient client(server.port());
  client.send(post("/x", "body"));
  auto exchange = server.next();
  std::this_thread::sleep_for(milliseconds(300));
  exchange->startStream(200, {});
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(exchange->write("late"));
  exchange->endStream();
  EXPECT_EQ(client.read().body, "late");
}

TEST(Limits, TooManyBytesOfBodiesAreRefused) {
  ServerOptions options = testOptions();
  options.bodyBytes = 100'000;
  options.allBodyBytes = 200'000;
  options.tenantOf = [](const Request &request) {
    return request.field("X-Other") ? 2 : 1;
  };
  TestServer server(options);
  std::string max(60'000, 'x');
  TestClient sending(server.port()), second(server.port());
  // A request that is being received counts with its bytes so far.
  sending.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n"
               "\r\n" +
               max);
  ASSERT_TRUE(eventually(
      [&] { return server.server->counters().bytesIn > max.size(); }));
  second.send(post("/echo", max));
  ReadAnswer answer = second.read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "too many bytes of bodies at once\n");
  TestClient other(server.port());
  other.send(post("/echo", max, "X-Other: 1\r\n"));
  EXPECT_EQ(other.read().status, 200);
  sending.close(); // gives back its bytes
  ASSERT_TRUE(eventually([&] {
    TestClient third(server.port());
    third.send(post("/echo", max));
    return third.read().status == 200;
  }));
}

/// What was made of a body counts until the exchange ends.
TEST(Limits, WhatExchangesHoldCountsToo) {
  ServerOptions options = testOptions();
  options.allHeldBytes = 200'000;
  TestServer server(options);
  TestClient first(server.port()), second(server.port());
  first.send(post("/x", "body"));
  auto exchange = server.next();
  (void)exchange->takeBody();
  EXPECT_TRUE(exchange->hold(90'000));
  EXPECT_TRUE(exchange->hold(95'000)); // in place of the first number
  second.send(post("/x", "body"));
  auto other = server.next();
  EXPECT_FALSE(other->hold(50'000));
  other->reply(503, {}, "too much");
  other.reset();
  EXPECT_EQ(second.read().status, 503);
  exchange->reply(200, {}, "done");
  exchange.reset();
  EXPECT_EQ(first.read().status, 200);
  EXPECT_TRUE(eventually([&] {
    TestClient third(server.port());
    third.send(post("/x", "body"));
    auto now = server.next();
    const bool fits = now->hold(95'000);
    now->reply(200, {}, "done");
    return fits;
  }));
}

TEST(Limits, OneTenantLeavesPlacesForTheRequestsOfOthers) {
  ServerOptions options = testOptions();
  options.connections = 8;
  options.tenantOf = [](const Request &request) {
    return request.field("X-Other") ? 2 : 1;
  };
  options.hasReservedPlace = [](const Request &request) {
    return request.target == "/health";
  };
  TestServer server(options);
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  auto ask = [&](const std::string &fields) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->send(post("/x", "body", fields));
    exchanges.push_back(server.next());
  };
  for (int i = 0; i < 4; ++i)
    ask("");
  TestClient more(server.port());
  more.send(post("/x", "body"));
  ReadAnswer answer = more.read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "too many requests at once\n");
  for (int i = 0; i < 2; ++i)
    ask("X-Other: 1\r\n");
  // A probe is no such request.
  TestClient probe(server.port());
  probe.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  server.next()->reply(200, {}, "ok");
  EXPECT_EQ(probe.read().status, 200);
  for (const std::shared_ptr<Exchange> &exchange : exchanges)
    exchange->reply(200, {}, "done");
  exchanges.clear();
  for (const std::unique_ptr<TestClient> &client : clients)
    EXPECT_EQ(client->read().status, 200);
  EXPECT_TRUE(eventually([&] {
    TestClient again(server.port());
    again.send(post("/echo", "body"));
    return again.read().status == 200;
  }));
}

TEST(Limits, HeadIsRefusedWithoutABody) {
  TestServer server;
  TestClient client(server.port());
  client.send("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.read(/*isHead=*/true).status, 400);
  EXPECT_TRUE(client.closedByServer());
}
