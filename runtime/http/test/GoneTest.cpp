//===- GoneTest.cpp - tests of noticing that a client has gone ------------===//
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

namespace {

enum class Way { Close, Reset, ShutdownWrite };

void leave(TestClient &client, Way way) {
  switch (way) {
  case Way::Close:
    return client.close();
  case Way::Reset:
    return client.reset();
  case Way::ShutdownWrite:
    return client.shutdownWrite();
  }
}

class Gone : public testing::TestWithParam<Way> {
protected:
  TestServer server;
  TestClient client{server.port()};
  Signal gone;

  std::shared_ptr<Exchange> begin(const std::string &more = "") {
    client.send(get("/x") + more);
    auto exchange = server.next();
    EXPECT_TRUE(exchange->onGone([this] { gone.raise(); }));
    return exchange;
  }
  void expectGone(const std::shared_ptr<Exchange> &exchange) {
    leave(client, GetParam());
    EXPECT_TRUE(gone.wait());
    EXPECT_TRUE(exchange->gone());
    EXPECT_FALSE(exchange->write("x"));
    EXPECT_FALSE(exchange->startStream(200, {}));
    EXPECT_FALSE(exchange->onGone([] {}));
    exchange->reply(200, {}, "to nobody");
    EXPECT_TRUE(eventually([&] {
      return server.server->open() == 0 &&
             server.server->counters().connections == 0;
    }));
    EXPECT_EQ(gone.count(), 1);
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Gone,
                         testing::Values(Way::Close, Way::Reset,
                                         Way::ShutdownWrite));

} // namespace

TEST_P(Gone, IsNoticedBeforeTheAnswer) {
  auto exchange = begin();
  EXPECT_FALSE(gone.wait(1, milliseconds(50)));
  expectGone(exchange);
}

TEST_P(Gone, IsNoticedWhileStreaming) {
  auto exchange = begin();
  exchange->startStream(200, {});
  exchange->write("one");
  client.readUntil("one\r\n");
  expectGone(exchange); // noticed without another write
}

TEST_P(Gone, IsNoticedBehindPipelinedRequests) {
  expectGone(begin(get("/second") + get("/third")));
}

TEST_P(Gone, IsNoticedWhereMoreIsSentAheadThanIsKept) {
  expectGone(begin(post("/second", std::string(100'000, 'x'))));
}

TEST_P(Gone, IsNoticedWhereTheClientDoesNotRead) {
  auto exchange = begin();
  exchange->startStream(200, {});
  std::string piece(500'000, 'x');
  for (int i = 0; i < 30; ++i) {
    exchange->write(piece);
    std::this_thread::sleep_for(milliseconds(1));
  }
  expectGone(exchange);
}

TEST_P(Gone, IsNoTroubleBetweenRequests) {
  client.send(get("/echo"));
  EXPECT_EQ(client.read().status, 200);
  leave(client, GetParam());
  EXPECT_TRUE(
      eventually([&] { return server.server->counters().connections == 0; }));
}

TEST_P(Gone, IsNoTroubleInTheMiddleOfARequest) {
  client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  leave(client, GetParam());
  EXPECT_TRUE(
      eventually([&] { return server.server->counters().connections == 0; }));
}

TEST_F(Gone, IsNotCalledAfterTheAnswer) {
  auto token = std::make_shared<int>();
  client.send(get("/x"));
  auto exchange = server.next();
  EXPECT_TRUE(exchange->onGone([this, token] { gone.raise(); }));
  exchange->reply(200, {}, "answer");
  EXPECT_EQ(token.use_count(), 1); // destroyed with the answer
  EXPECT_FALSE(exchange->onGone([this] { gone.raise(); }));
  EXPECT_EQ(client.read().body, "answer");
  client.close();
  EXPECT_TRUE(
      eventually([&] { return server.server->counters().connections == 0; }));
  EXPECT_EQ(gone.count(), 0);
  EXPECT_FALSE(exchange->gone());
}

TEST_F(Gone, CallsTheLastFunctionOnly) {
  auto exchange = begin();
  Signal second;
  EXPECT_TRUE(exchange->onGone([&] { second.raise(); }));
  client.close();
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(gone.count(), 0);
}

TEST_F(Gone, MayHoldAndDropTheExchange) {
  auto exchange = begin();
  std::weak_ptr<Exchange> weak = exchange;
  EXPECT_TRUE(exchange->onGone([this, exchange] { gone.raise(); }));
  exchange.reset();
  client.close();
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(eventually([&] { return weak.expired(); }));
}

TEST_F(Gone, DoesNotBotherOthers) {
  auto exchange = begin();
  client.close();
  EXPECT_TRUE(gone.wait());
  TestClient other(server.port());
  other.send(get("/echo"));
  EXPECT_EQ(other.read().status, 200);
}

TEST_F(Gone, IsNotSeenInUrgentData) {
  auto exchange = begin();
  ::send(client.socket, "!", 1, MSG_OOB);
  EXPECT_FALSE(gone.wait(1, milliseconds(50)));
  exchange->reply(200, {}, "answer");
  EXPECT_EQ(client.read().body, "answer");
}
