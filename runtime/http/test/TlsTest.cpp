//===- TlsTest.cpp - tests of the server under TLS ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestCertificate.h"
#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice::http;
using namespace sluice::http::test;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// A folder with two certificates and their keys.
class Tls : public testing::Test {
protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/sluice-tls-XXXXXX";
    folder = mkdtemp(name);
    makeCertificate(folder, "a");
    makeCertificate(folder, "b");
    std::ofstream(path("text")) << "no PEM\n";
    std::ofstream(path("empty"));
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::string path(const std::string &name) {
    return folder + '/' + name;
  }

  static ServerOptions options(const std::string &certificate = "a.crt",
                               const std::string &key = "a.key") {
    ServerOptions options = testOptions();
    options.certificateFile = path(certificate);
    options.keyFile = path(key);
    return options;
  }
  static std::string createError(const ServerOptions &options) {
    return Server::create(options, [](const std::shared_ptr<Exchange> &) {})
        .status()
        .message();
  }

  static std::string folder;
};

std::string Tls::folder;

} // namespace

TEST_F(Tls, SaysWhatIsWrongWithTheFiles) {
  EXPECT_EQ(createError(options()), "");
  EXPECT_EQ(createError(options("none")),
            "certificate '" + path("none") + "': No such file or directory");
  EXPECT_EQ(createError(options("empty")),
            "certificate '" + path("empty") + "': the file is empty");
  EXPECT_THAT(createError(options("text")),
              StartsWith("certificate '" + path("text") +
                         "': no certificate in PEM: "));
  EXPECT_EQ(createError(options("a.crt", "none")),
            "key '" + path("none") + "': No such file or directory");
  EXPECT_THAT(createError(options("a.crt", "text")),
              HasSubstr("no private key in PEM without a passphrase"));
  EXPECT_THAT(createError(options("a.crt", "a.locked")),
              HasSubstr("no private key in PEM without a passphrase"));
  EXPECT_EQ(createError(options("a.crt", "b.key")),
            "key '" + path("b.key") + "' does not belong to certificate '" +
                path("a.crt") + "'");
  EXPECT_THAT(createError(options("a.crt", ".")), HasSubstr("Is a directory"));
}

TEST_F(Tls, Answers) {
  TestServer server(options());
  TestClient client(server.port(), /*usesTls=*/true);
  ASSERT_TRUE(client.connected());
  for (int i = 0; i < 3; ++i) {
    client.send(post("/echo", std::to_string(i)));
    EXPECT_EQ(client.read().body, "POST /echo " + std::to_string(i));
  }
  client.send(get("/echo", "Connection: close\r\n"));
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.readAll(), "");
}

TEST_F(Tls, CarriesLargeBodies) {
  TestServer server(options());
  TestClient client(server.port(), /*usesTls=*/true);
  std::string body;
  for (int i = 0; body.size() < 5'000'000; ++i)
    body += std::to_string(i);
  client.send(post("/echo", body));
  EXPECT_EQ(client.read().body, "POST /echo " + body);
}

TEST_F(Tls, ServesPipelinedRequests) {
  TestServer server(options());
  TestClient client(server.port(), /*usesTls=*/true);
  // They come in few TLS records, parts of which wait undecoded.
  std::string all;
  for (int i = 0; i < 500; ++i)
    all += post("/echo", std::to_string(i));
  client.send(all);
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(client.read().body, "POST /echo " + std::to_string(i));
}

TEST_F(Tls, Streams) {
  TestServer server(options());
  TestClient client(server.port(), /*usesTls=*/true);
  client.send(get("/x"));
  auto exchange = server.next();
  exchange->startStream(200, {});
  for (int i = 0; i < 100; ++i) {
    std::string piece = "piece " + std::to_string(i) + ';';
    EXPECT_TRUE(exchange->write(piece));
    EXPECT_THAT(client.readUntil(piece + "\r\n"), HasSubstr(piece));
  }
  exchange->endStream();
  EXPECT_EQ(client.readUntil("\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(Tls, NoticesThatTheClientHasGone) {
  TestServer server(options());
  for (bool streaming : {false, true})
    for (bool byReset : {false, true}) {
      TestClient client(server.port(), /*usesTls=*/true);
      Signal gone;
      client.send(get("/x"));
      auto exchange = server.next();
      EXPECT_TRUE(exchange->onGone([&] { gone.raise(); }));
      if (streaming) {
        exchange->startStream(200, {});
        exchange->write("one");
        client.readUntil("one\r\n");
      }
      EXPECT_FALSE(gone.wait(1, milliseconds(20)));
      if (byReset)
        client.reset();
      else
        client.close();
      EXPECT_TRUE(gone.wait());
    }
  EXPECT_TRUE(eventually([&] { return server.server->open() == 0; }));
}

TEST_F(Tls, CutsOffSlowClients) {
  ServerOptions slow = options();
  slow.unsentBytes = 100 << 20;
  slow.stallTimeout = milliseconds(300);
  TestServer server(slow);
  TestClient client(server.port(), /*usesTls=*/true);
  Signal gone;
  client.send(get("/x"));
  auto exchange = server.next();
  EXPECT_TRUE(exchange->onGone([&] { gone.raise(); }));
  exchange->startStream(200, {});
  EXPECT_TRUE(exchange->write(std::string(30 << 20, 'x')));
  EXPECT_TRUE(gone.wait());
}

TEST_F(Tls, TellsPlainHttpSo) {
  TestServer server(options());
  TestClient client(server.port());
  client.send(get("/echo"));
  ReadAnswer answer = client.read();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body,
            "plain HTTP was sent to a port that speaks TLS; use https\n");
  EXPECT_TRUE(client.closedByServer());
}

TEST_F(Tls, ClosesOnGarbageAndSilence) {
  ServerOptions quick = options();
  quick.headerTimeout = milliseconds(100);
  TestServer server(quick);
  TestClient garbage(server.port()), silent(server.port());
  garbage.send(std::string(100, '\0'));
  garbage.readAll(); // may be an alert
  silent.readAll();
  EXPECT_TRUE(
      eventually([&] { return server.server->counters().connections == 0; }));
}

TEST_F(Tls, RefusesConnectionsInside) {
  ServerOptions few = options();
  few.connections = 1;
  TestServer server(few);
  TestClient one(server.port(), /*usesTls=*/true);
  one.send(get("/x"));
  // The request is being handled.
  std::shared_ptr<Exchange> exchange = server.next();
  ASSERT_TRUE(exchange);
  TestClient two(server.port(), /*usesTls=*/true);
  two.send(get("/echo"));
  EXPECT_EQ(two.read().status, 503);
}

TEST_F(Tls, OpenStreamsAreCheap) {
  constexpr int streams = 200;
  TestServer server(options());
  int64_t before = heapBytes();
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (int i = 0; i < streams; ++i) {
    clients.push_back(
        std::make_unique<TestClient>(server.port(), /*usesTls=*/true));
    ASSERT_TRUE(clients.back()->connected());
    clients.back()->send(get("/x"));
    exchanges.push_back(server.next());
    exchanges.back()->startStream(200, {});
    exchanges.back()->write("first");
    clients.back()->readUntil("first\r\n");
  }
  int64_t each = (heapBytes() - before) / streams;
  std::printf("bytes for both ends of each open stream: %lld allocated\n",
              static_cast<long long>(each));
  EXPECT_LT(each, 64 << 10);
}
