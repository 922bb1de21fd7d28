//===- PlacesTest.cpp - tests of places for connections -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If all places are taken, a new connection takes the place of a less wanted
// one, and requests with reserved places are always answered.
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gtest/gtest.h>

using namespace sluice::http;
using namespace sluice::http::test;

namespace {

ServerOptions withPlaces(int64_t connections) {
  ServerOptions options = testOptions();
  options.connections = connections;
  options.hasReservedPlace = [](const Request &request) {
    return request.target == "/echo";
  };
  // Only places limit the requests.
  options.tenantOf = [](const Request &request) {
    return static_cast<uint64_t>(request.peerPort);
  };
  return options;
}

class Places : public testing::Test {
protected:
  explicit Places(int64_t connections = 2) : server(withPlaces(connections)) {}

  std::unique_ptr<TestClient> client(const char *from = "127.0.0.1") {
    const uint64_t before = server.server->counters().accepted;
    auto made = std::make_unique<TestClient>(server.port(), false, from);
    EXPECT_TRUE(eventually(
        [&] { return server.server->counters().accepted > before; }));
    return made;
  }
  /// Returns a client whose request is being handled.
  std::unique_ptr<TestClient> busy(const char *from = "127.0.0.1") {
    auto made = client(from);
    made->send(get("/x"));
    exchanges.push_back(server.next());
    EXPECT_TRUE(exchanges.back());
    return made;
  }
  static bool isServed(TestClient &client) {
    client.send(get("/echo"));
    return client.read().status == 200;
  }

  TestServer server;
  std::vector<std::shared_ptr<Exchange>> exchanges;
};

} // namespace

TEST_F(Places, OneWithoutARequestIsClosedForANewOne) {
  auto one = busy();
  auto silent = client();
  silent->send("GET / HT");
  auto third = client();
  EXPECT_TRUE(silent->closedByServer());
  EXPECT_TRUE(isServed(*third));
  EXPECT_EQ(server.server->counters().refused, 1u);
  exchanges[0]->reply(200, {}, "done");
  EXPECT_EQ(one->read().body, "done");
}

TEST_F(Places, OneThatHasSaidNothingGoesBeforeOneThatWasServed) {
  auto served = client();
  EXPECT_TRUE(isServed(*served));
  auto silent = client();
  auto third = client();
  EXPECT_TRUE(silent->closedByServer());
  EXPECT_TRUE(isServed(*served));
  EXPECT_TRUE(isServed(*third));
}

TEST_F(Places, TheNetworkThatHasTheMostGivesWay) {
  auto other = client("127.0.0.2");
  auto one = client("127.0.0.3");
  // This takes the place of `other`: each network has one connection.
  auto two = client("127.0.0.3");
  EXPECT_TRUE(other->closedByServer());
  auto again = client("127.0.0.2");
  EXPECT_TRUE(one->closedByServer());
  EXPECT_TRUE(isServed(*again));
  EXPECT_TRUE(isServed(*two));
}

/// The new connection could only replace one of its own network.
TEST_F(Places, ABodyIsLetBeForANewOneOfTheSameNetwork) {
  auto sending = client();
  sending->send("POST /y HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  auto one = busy();
  auto third = client();
  third->send(get("/x"));
  EXPECT_EQ(third->read().status, 503);
  sending->send("defghi");
  std::shared_ptr<Exchange> exchange = server.next();
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->request().body, "abcdefghi");
}

TEST_F(Places, ABodyGivesWayToANetworkThatHasNone) {
  auto sending = client("127.0.0.2");
  sending->send("POST /y HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  auto one = busy("127.0.0.2");
  const uint64_t came = sizeof "POST /y HTTP/1.1";
  ASSERT_TRUE(
      eventually([&] { return server.server->counters().bytesIn > 2 * came; }));
  auto third = client("127.0.0.3");
  EXPECT_TRUE(isServed(*third));
  EXPECT_TRUE(sending->closedByServer());
}

TEST_F(Places, WhereAllAreAtWorkOthersAreToldSo) {
  auto one = busy(), two = busy();
  for (uint64_t count = 1; count <= 3; ++count) {
    auto third = client();
    third->send(get("/x"));
    ReadAnswer answer = third->read();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body, "too many connections\n");
    EXPECT_TRUE(third->closedByServer());
    EXPECT_EQ(server.server->counters().refused, count);
  }
  two->close();
  ASSERT_TRUE(
      eventually([&] { return server.server->counters().connections == 1; }));
  auto fourth = busy();
  exchanges.back()->reply(200, {}, "");
  EXPECT_EQ(fourth->read().status, 200);
}

TEST_F(Places, ReservedOnesAreAnswered) {
  auto one = busy(), two = busy();
  auto third = client();
  third->send(get("/echo"));
  ReadAnswer answer = third->read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(third->closedByServer());
}

/// Silent connections are closed in reserved places too, however many there
/// are.
TEST_F(Places, ReservedOnesCannotBeBlocked) {
  auto one = busy(), two = busy();
  std::vector<std::unique_ptr<TestClient>> silent;
  for (int i = 0; i < 200; ++i)
    silent.push_back(std::make_unique<TestClient>(server.port()));
  ASSERT_TRUE(
      eventually([&] { return server.server->counters().accepted == 202; }));
  EXPECT_LE(server.server->counters().connections, 2 + 64);
  auto last = client();
  EXPECT_TRUE(isServed(*last));
  EXPECT_TRUE(silent.front()->closedByServer());
}
