//===- ServerTest.cpp - tests of connections and of a server's life -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using testing::HasSubstr;
using testing::StartsWith;

static std::string createError(const ServerOptions &options) {
  auto made = Server::create(options, [](const std::shared_ptr<Exchange> &) {});
  return made.status().message();
}

TEST(Server, ChecksItsOptions) {
  ServerOptions options;
  EXPECT_EQ(createError(options), "");
  options.connections = 0;
  EXPECT_EQ(createError(options), "server option connections: 0 is not in the "
                                  "range 1 to 1048576");
  options = {};
  options.headerTimeout = std::chrono::milliseconds(0);
  EXPECT_THAT(createError(options), HasSubstr("headerTimeout: 0"));
  options = {};
  options.allBodyBytes = 2 * options.bodyBytes - 1;
  EXPECT_THAT(createError(options), HasSubstr("allBodyBytes"));
  options = {};
  options.keyFile = "/key.pem";
  EXPECT_EQ(createError(options),
            "server options: a key without its certificate");
  options = {};
  options.onRefusal = nullptr;
  EXPECT_EQ(createError(options), "server option onRefusal: is empty");
  EXPECT_EQ(Server::create({}, nullptr).status().message(),
            "the server has no handler");
}

TEST(Server, SaysWhyItCannotListen) {
  ServerOptions options;
  for (const char *address : {"localhost", "", "1.2.3", "127.0.0.1:80"}) {
    options.address = address;
    EXPECT_EQ(createError(options),
              "cannot listen on '" + options.address +
                  "': it is no numeric IPv4 or IPv6 address");
  }
  TestServer server;
  options = {};
  options.port = server.port();
  EXPECT_EQ(createError(options), "cannot listen on 127.0.0.1 port " +
                                      std::to_string(server.port()) +
                                      ": Address already in use");
  options.address = "203.0.113.1"; // reserved for documentation, so not local
  EXPECT_THAT(createError(options), StartsWith("cannot listen on 203.0.113.1"));
}

TEST(Server, StartsOnce) {
  TestServer server;
  EXPECT_FALSE(server.server->start().ok());
  server.server->stop();
  server.server->stop();
  EXPECT_FALSE(server.server->start().ok());
}

TEST(Server, NeedNotBeStarted) {
  auto made = Server::create({}, [](const std::shared_ptr<Exchange> &) {});
  ASSERT_TRUE(made);
  EXPECT_NE((*made)->port(), 0);
}

TEST(Server, KeepsConnections) {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 100; ++i) {
    client.send(post("/echo", std::to_string(i)));
    EXPECT_EQ(client.read().body, "POST /echo " + std::to_string(i));
  }
  EXPECT_EQ(server.server->counters().accepted, 1u);
  client.send(get("/echo", "Connection: close\r\n"));
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(client.closedByServer());
}

TEST(Server, ServesPipelinedRequestsInOrder) {
  TestServer server;
  TestClient client(server.port());
  // More than the server reads ahead while it answers a request.
  constexpr int count = 2000;
  std::thread sender([&] {
    std::string all;
    for (int i = 0; i < count; ++i)
      all += i % 3 ? post("/echo", std::to_string(i))
                   : get("/echo?" + std::to_string(i));
    EXPECT_TRUE(client.send(all));
  });
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(client.read().body,
              i % 3 ? "POST /echo " + std::to_string(i) : "GET /echo ")
        << i;
  sender.join();
}

TEST(Server, AnswersOneRequestAfterTheOther) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/first") + get("/second") + get("/third"));
  auto first = server.next();
  EXPECT_EQ(first->request().path, "/first");
  EXPECT_EQ(server.server->open(), 1);
  first->reply(200, {}, "1");
  auto second = server.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->request().path, "/second");
  second->startStream(200, {});
  second->write("2");
  second->endStream();
  auto third = server.next();
  ASSERT_TRUE(third);
  third->reply(200, {}, "3");
  for (const char *body : {"1", "2", "3"})
    EXPECT_EQ(client.read().body, body);
}

TEST(Server, AnswersWhatCameBeforeAMalformedRequest) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/echo") + "nonsense\r\n\r\n" + get("/echo"));
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read().status, 400);
  EXPECT_TRUE(client.closedByServer());
}

TEST(Server, ReadsRequestsThatComeInPieces) {
  TestServer server;
  TestClient client(server.port());
  std::string bytes = post("/echo", "body") +
                      "POST /echo HTTP/1.1\r\nHost: a\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"
                      "2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n";
  std::thread sender([&] {
    for (char c : bytes)
      client.send({&c, 1});
  });
  EXPECT_EQ(client.read().body, "POST /echo body");
  EXPECT_EQ(client.read().body, "POST /echo body");
  sender.join();
}

TEST(Server, ReadsLargeBodies) {
  TestServer server;
  TestClient client(server.port());
  std::string body;
  for (int i = 0; body.size() < 10'000'000; ++i)
    body += std::to_string(i);
  client.send(post("/echo", body));
  EXPECT_EQ(client.read().body, "POST /echo " + body);
  char size[16];
  std::snprintf(size, sizeof size, "%zx", body.size());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"
              "\r\n\r\n" +
              std::string(size) + "\r\n" + body + "\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().body, "POST /echo " + body);
}

TEST(Server, MeetsExpectations) {
  TestServer server;
  TestClient client(server.port());
  std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                     "Expect: 100-continue\r\n\r\n";
  client.send(head);
  EXPECT_EQ(client.readUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_EQ(client.read().body, "POST /echo body");
  client.send(head + "body"); // a client that does not wait gets no 100
  EXPECT_EQ(client.read().status, 200);
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
              "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read().status, 100);
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.read().body, "POST /echo ");
}

TEST(Server, ListensOnIpv6) {
  ServerOptions options = testOptions();
  options.address = "::";
  auto made =
      Server::create(options, [](const std::shared_ptr<Exchange> &exchange) {
        exchange->reply(200, {}, exchange->request().peerAddress);
      });
  if (!made)
    GTEST_SKIP() << made.status().message();
  ASSERT_TRUE((*made)->start().ok());
  TestClient client((*made)->port()); // over IPv4, on which it listens as well
  client.send(get("/"));
  EXPECT_EQ(client.read().body, "::ffff:127.0.0.1");
}

TEST(Server, Counts) {
  TestServer server;
  EXPECT_EQ(server.server->counters().accepted, 0u);
  std::string request = get("/echo");
  std::string answer;
  {
    TestClient client(server.port());
    client.send(request);
    answer = client.readUntil("/echo ");
    // The bytes count after they were sent, perhaps after the client has read
    // them.
    EXPECT_TRUE(eventually(
        [&] { return server.server->counters().bytesOut == answer.size(); }));
    ServerCounters counters = server.server->counters();
    EXPECT_EQ(counters.connections, 1);
    EXPECT_EQ(counters.accepted, 1u);
    EXPECT_EQ(counters.refused, 0u);
    EXPECT_EQ(counters.bytesIn, request.size());
  }
  EXPECT_TRUE(
      eventually([&] { return server.server->counters().connections == 0; }));
  EXPECT_EQ(server.server->open(), 0);
}

TEST(Server, Drains) {
  TestServer server;
  TestClient idle(server.port()), waits(server.port()), streams(server.port()),
      sends(server.port());
  idle.send(get("/echo"));
  EXPECT_EQ(idle.read().status, 200);
  waits.send(get("/waits"));
  auto waiting = server.next();
  streams.send(get("/streams"));
  auto streaming = server.next();
  streaming->startStream(200, {});
  streaming->write("1");
  EXPECT_THAT(streams.readUntil("1\r\n1\r\n"), HasSubstr("chunked"));
  sends.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo");
  ASSERT_TRUE(eventually([&] {
    return server.server->counters().connections == 4 &&
           server.server->counters().bytesIn >
               4 * get("/").size(); // the answers to `sends` were read
  }));
  server.server->drain();

  EXPECT_TRUE(idle.closedByServer());
  EXPECT_TRUE(
      eventually([&] { return !TestClient(server.port()).connected(); }));
  EXPECT_EQ(server.server->open(), 2);
  sends.send("dy");
  ReadAnswer answer = sends.read();
  EXPECT_EQ(answer.body, "POST /echo body");
  EXPECT_EQ(answer.field("Connection"), "close");
  waiting->reply(200, {}, "late");
  answer = waits.read();
  EXPECT_EQ(answer.body, "late");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(waits.closedByServer());
  EXPECT_TRUE(streaming->write("2"));
  streaming->endStream();
  EXPECT_EQ(streams.readAll(), "1\r\n2\r\n0\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return server.server->open() == 0; }));
}

TEST(Server, OpenTellsWhetherAnswersHaveBeenSent) {
  TestServer server;
  TestClient client(server.port());
  client.send(get("/x"));
  auto exchange = server.next();
  exchange->reply(200, {}, std::string(20'000'000, 'x'));
  // The kernel does not buffer this much without a reader.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(server.server->open(), 1);
  EXPECT_TRUE(client.read().complete);
  EXPECT_TRUE(eventually([&] { return server.server->open() == 0; }));
}

TEST(Server, StopsWithOpenStreams) {
  TestServer server;
  TestClient streams(server.port()), waits(server.port());
  Signal gone;
  auto onGone = [&] { gone.raise(); };
  streams.send(get("/x"));
  auto streaming = server.next();
  EXPECT_TRUE(streaming->onGone(onGone));
  EXPECT_TRUE(streaming->startStream(200, {}));
  EXPECT_TRUE(streaming->write("1"));
  streams.readUntil("1\r\n1\r\n");
  waits.send(get("/x"));
  auto waiting = server.next();
  EXPECT_TRUE(waiting->onGone(onGone));

  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (streaming->write("x"))
      std::this_thread::yield();
    done = true;
  });
  server.server->stop();
  EXPECT_EQ(gone.count(), 2); // called before stop() returned
  writer.join();
  EXPECT_TRUE(done);
  streams.readAll();
  EXPECT_TRUE(waits.closedByServer());

  // Exchanges may outlive the server.
  server.server.reset();
  EXPECT_TRUE(streaming->gone());
  EXPECT_FALSE(streaming->write("x"));
  EXPECT_FALSE(waiting->onGone(onGone));
  waiting->reply(200, {}, "to nobody");
  waiting.reset();
  streaming.reset();
  EXPECT_EQ(gone.count(), 2);
}
