//===- StreamTest.cpp - tests of answers in pieces ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>

using namespace sluice::http;
using namespace sluice::http::test;
using std::chrono::milliseconds;
using testing::EndsWith;

namespace {

/// A client whose request waits for its answer.
struct Started {
  explicit Started(TestServer &server, const std::string &request = get("/x"))
      : client(server.port()) {
    client.send(request);
    exchange = server.next();
  }
  TestClient client;
  std::shared_ptr<Exchange> exchange;
};

} // namespace

TEST(Stream, ArrivesPieceByPiece) {
  TestServer server;
  Started started(server);
  EXPECT_TRUE(started.exchange->startStream(
      200, {{"Content-Type", "text/event-stream"}}));
  // The head is sent before the first piece.
  std::string head = started.client.readUntil("\r\n\r\n");
  EXPECT_THAT(head, EndsWith("Content-Type: text/event-stream\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n"));
  for (std::string piece : {"one", "", "three"}) {
    EXPECT_TRUE(started.exchange->write(piece));
    if (!piece.empty()) {
      EXPECT_EQ(started.client.readUntil(piece + "\r\n"),
                std::to_string(piece.size()) + "\r\n" + piece + "\r\n");
    }
  }
  started.exchange->endStream();
  EXPECT_EQ(started.client.readUntil("\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(started.exchange->write("more"));
  started.client.send(get("/echo"));
  EXPECT_EQ(started.client.read().body, "GET /echo ");
}

TEST(Stream, KeepsItsOrderUnderManyWriters) {
  TestServer server;
  constexpr int streams = 8, pieces = 5000;
  std::vector<std::unique_ptr<Started>> all;
  std::vector<std::thread> writers;
  for (int i = 0; i < streams; ++i) {
    all.push_back(std::make_unique<Started>(server));
    writers.emplace_back([exchange = all.back()->exchange] {
      exchange->startStream(200, {});
      for (int j = 0; j < pieces; ++j)
        exchange->write(std::to_string(j) + ' ');
      exchange->endStream();
    });
  }
  std::string expected;
  for (int j = 0; j < pieces; ++j)
    expected += std::to_string(j) + ' ';
  for (auto &started : all)
    EXPECT_EQ(started->client.read().body, expected);
  for (std::thread &writer : writers)
    writer.join();
}

TEST(Stream, JoinsWhatPilesUp) {
  ServerOptions options = testOptions();
  options.unsentBytes = 50 << 20;
  TestServer server(options);
  Started started(server);
  started.exchange->startStream(200, {});
  std::string large(20 << 20, 'x'); // more than the kernel buffers
  EXPECT_TRUE(started.exchange->write(large));
  std::this_thread::sleep_for(milliseconds(50));
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(started.exchange->write("y"));
  started.exchange->endStream();
  ReadAnswer answer = started.client.read();
  ASSERT_EQ(answer.chunks.size(), 2u);
  EXPECT_EQ(answer.chunks[0], large);
  EXPECT_EQ(answer.chunks[1], std::string(1000, 'y'));
}

TEST(Stream, EndsWithTheConnectionForHttp10) {
  TestServer server;
  for (const char *fields : {"", "Connection: keep-alive\r\n"}) {
    Started started(server,
                    "GET /x HTTP/1.0\r\n" + std::string(fields) + "\r\n");
    started.exchange->startStream(200, {});
    started.exchange->write("one");
    started.exchange->write("two");
    started.exchange->endStream();
    ReadAnswer answer = started.client.read();
    EXPECT_EQ(answer.body, "onetwo");
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_EQ(answer.field("Transfer-Encoding"), "");
  }
}

TEST(Stream, HasNoBodyForHead) {
  TestServer server;
  Started started(server, "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(started.exchange->startStream(200, {}));
  EXPECT_TRUE(started.exchange->write("nothing of this"));
  started.exchange->endStream();
  EXPECT_EQ(started.client.read(/*isHead=*/true).field("Transfer-Encoding"),
            "chunked");
  started.client.send(get("/echo"));
  EXPECT_EQ(started.client.read().body, "GET /echo ");
}

TEST(Stream, IsCutOffWhereNobodyEndsIt) {
  TestServer server;
  for (const char *version : {"1.0", "1.1"}) {
    Started started(server, "GET /x HTTP/" + std::string(version) +
                                "\r\nHost: a\r\n\r\n");
    started.exchange->startStream(200, {});
    started.exchange->write("one");
    started.client.readUntil("one");
    started.exchange.reset();
    EXPECT_THAT(started.client.readAll(), testing::Not(EndsWith("0\r\n\r\n")));
    EXPECT_TRUE(started.client.wasReset());
  }
}

TEST(Stream, EndsWhereTooMuchPilesUp) {
  ServerOptions options = testOptions();
  options.unsentBytes = 1 << 20;
  TestServer server(options);
  Started started(server); // the client does not read
  Signal gone;
  EXPECT_TRUE(started.exchange->onGone([&] { gone.raise(); }));
  started.exchange->startStream(200, {});
  std::string piece(10'000, 'x');
  size_t written = 0;
  while (written < size_t{100} << 20 && started.exchange->write(piece)) {
    written += piece.size();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  // The kernels' buffers and the limit.
  EXPECT_LT(written, size_t{20} << 20);
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(started.exchange->gone());
  EXPECT_FALSE(started.exchange->write("x"));
  EXPECT_EQ(gone.count(), 1);
  started.client.readAll();
  EXPECT_TRUE(started.client.wasReset());
}

TEST(Stream, EndsWhereTheClientStalls) {
  ServerOptions options = testOptions();
  options.unsentBytes = 100 << 20;
  options.stallTimeout = milliseconds(300);
  TestServer server(options);
  Started started(server); // the client does not read
  Signal gone;
  EXPECT_TRUE(started.exchange->onGone([&] { gone.raise(); }));
  started.exchange->startStream(200, {});
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(started.exchange->write(std::string(30 << 20, 'x')));
  EXPECT_TRUE(gone.wait());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(280));
  EXPECT_FALSE(started.exchange->write("x"));
}

TEST(Stream, WaitsForAClientThatReadsSlowly) {
  ServerOptions options = testOptions();
  options.unsentBytes = 100 << 20;
  options.stallTimeout = milliseconds(500);
  TestServer server(options);
  Started started(server);
  started.exchange->startStream(200, {});
  // A client that takes bytes from time to time is not stalled.
  std::string all(30 << 20, 'x');
  EXPECT_TRUE(started.exchange->write(all));
  started.exchange->endStream();
  std::string received;
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    while (received.size() < all.size() / 10 * static_cast<size_t>(i)) {
      std::string part(1 << 16, '\0');
      ssize_t count = recv(started.client.socket, part.data(), part.size(), 0);
      ASSERT_GT(count, 0);
      received.append(part, 0, static_cast<size_t>(count));
    }
  }
  received += started.client.readUntil("0\r\n\r\n");
  EXPECT_GT(received.size(), all.size());
  EXPECT_THAT(received, EndsWith("0\r\n\r\n"));
}

TEST(Stream, OneWriteBeyondTheLimitEndsIt) {
  ServerOptions options = testOptions();
  options.unsentBytes = 1000;
  TestServer server(options);
  Started started(server);
  started.exchange->startStream(200, {});
  EXPECT_TRUE(started.exchange->write(std::string(900, 'x')));
  started.client.readUntil("x\r\n");
  EXPECT_TRUE(eventually([&] { return started.exchange->write("y"); }));
  EXPECT_FALSE(started.exchange->write(std::string(1001, 'x')));
  // Complete answers have no such limit.
  Started other(server);
  other.exchange->reply(200, {}, std::string(5000, 'x'));
  EXPECT_EQ(other.client.read().body.size(), 5000u);
}
