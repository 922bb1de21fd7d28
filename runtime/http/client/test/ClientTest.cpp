//===- ClientTest.cpp - the HTTP client against a server of plain sockets -===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/Client.h"
#include "runtime/base/OpenFiles.h"

#include "runtime/http/client/test/LoopbackServer.h"
#include "runtime/http/client/test/Recorder.h"

#include <gmock/gmock.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::HasSubstr;

namespace {

Client clientOf(const std::string &url, ClientOptions options = {}) {
  return Client::create(*parseUrl(url), std::move(options)).take();
}

ClientRequest post(std::string body) {
  ClientRequest request;
  request.method = "POST";
  request.target = "/v1/completions";
  request.fields = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  return request;
}

CallId start(Client &client, Record &record, const ClientRequest &request,
             std::function<void()> onPiece = {}) {
  return *client.start(request,
                       std::make_unique<Recorder>(record, std::move(onPiece)));
}

/// Sends one request and waits for its end.
Record ask(Client &client, const ClientRequest &request) {
  Record record;
  start(client, record, request);
  EXPECT_TRUE(runUntil(client, [&] { return record.isOver(); }));
  EXPECT_TRUE(record.destroyed);
  EXPECT_EQ(client.inFlight(), 0u);
  return record;
}

void expectFailure(const Record &record, FailureKind kind, const char *why) {
  EXPECT_EQ(record.ends, 0);
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->kind, kind) << record.failure->message;
  EXPECT_THAT(record.failure->message, HasSubstr(why));
}

TEST(ClientTest, SendsWhatItIsAsked) {
  std::string seen;
  LoopbackServer server([&](Peer &peer) {
    seen = peer.readRequest();
    peer.send(answer("200 OK", "fine"));
  });
  Client client = clientOf(server.url());
  ClientRequest request = post("{}");
  request.fields.emplace_back("Authorization", "Bearer key");
  Record record = ask(client, request);
  EXPECT_EQ(record.ends, 1);
  EXPECT_EQ(record.heads, 1);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.type, "application/json");
  EXPECT_EQ(record.body, "fine");
  EXPECT_EQ(seen,
            "POST /v1/completions HTTP/1.1\r\nHost: " + server.authority() +
                "\r\nContent-Type: application/json\r\nAuthorization: "
                "Bearer key\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(ClientTest, ErrorStatusesAreAnswers) {
  LoopbackServer server([](Peer &peer) {
    while (!peer.readRequest().empty())
      peer.send(answer("429 Too Many Requests", "{\"error\": 1}") + "");
  });
  Client client = clientOf(server.url());
  for (int i = 0; i < 3; ++i) {
    Record record = ask(client, post("{}"));
    EXPECT_EQ(record.status, 429);
    EXPECT_EQ(record.body, "{\"error\": 1}");
    EXPECT_EQ(record.ends, 1);
  }
  EXPECT_EQ(client.connections(), 1u);
}

/// Pieces are passed on as they come, with the times at which they came.
TEST(ClientTest, StreamsPieceByPiece) {
  std::atomic<int> taken = 0;
  LoopbackServer server([&](Peer &peer) {
    peer.readRequest();
    peer.sendChunkedHead();
    int sent = 0;
    for (std::string_view piece : {"one ", "two ", "three"}) {
      peer.sendChunk(piece);
      for (++sent; taken < sent;)
        std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(20ms);
    }
    peer.sendChunk("");
  });
  Record record;
  Client client = clientOf(server.url());
  start(client, record, post("{}"), [&] { ++taken; });
  EXPECT_TRUE(runUntil(client, [&] { return record.isOver(); }));
  taken = 3; // whatever has come
  EXPECT_EQ(record.body, "one two three");
  ASSERT_EQ(record.pieces.size(), 3u);
  EXPECT_GE(record.pieces[1] - record.pieces[0], 20ms);
  EXPECT_GE(record.pieces[2] - record.pieces[1], 20ms);
}

TEST(ClientTest, AnAnswerCanEndWithTheConnection) {
  LoopbackServer server([](Peer &peer) {
    peer.readRequest();
    peer.send("HTTP/1.1 200 OK\r\n\r\nto the end");
  });
  Client client = clientOf(server.url());
  Record record = ask(client, post("{}"));
  EXPECT_EQ(record.body, "to the end");
  EXPECT_EQ(record.ends, 1);
}

TEST(ClientTest, KeepsConnectionsAndReplacesClosedOnes) {
  std::atomic<int> served = 0;
  LoopbackServer server([&](Peer &peer) {
    for (int i = 0; i < 2 && !peer.readRequest().empty(); ++i) {
      ++served;
      peer.send(answer("200 OK", "x"));
    }
  });
  Client client = clientOf(server.url());
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(ask(client, post("{}")).ends, 1) << i;
  EXPECT_EQ(served, 7);
  EXPECT_EQ(client.connections(), 4u);
}

/// The server closes a kept connection just when the next request is sent.
TEST(ClientTest, ASilentlyClosedConnectionIsReplacedOnce) {
  std::atomic<int> connections = 0;
  LoopbackServer server([&](Peer &peer) {
    int number = ++connections;
    if (number > 2) // closes without an answer
      return void(peer.readRequest());
    peer.readRequest();
    peer.send(answer("200 OK", "x"));
    peer.readRequest(); // answers this one by closing
  });
  Client client = clientOf(server.url());
  EXPECT_EQ(ask(client, post("1")).ends, 1);
  EXPECT_EQ(ask(client, post("2")).ends, 1);
  EXPECT_EQ(connections, 2);
  // If a new connection fails in the same way, the request fails.
  expectFailure(ask(client, post("3")), FailureKind::Closed,
                "closed without an answer");
  EXPECT_EQ(connections, 3);
}

TEST(ClientTest, NobodyListens) {
  uint16_t port = 0;
  close(listenOnLoopback(port));
  Client client = clientOf("http://127.0.0.1:" + std::to_string(port));
  Record record = ask(client, post("{}"));
  expectFailure(record, FailureKind::Connect,
                "cannot connect: Connection refused");
  EXPECT_THAT(record.failure->message,
              HasSubstr("127.0.0.1:" + std::to_string(port)));
}

TEST(ClientTest, AServerThatDoesNotSpeakHttp) {
  const std::tuple<std::string, FailureKind, const char *> cases[] = {
      {"", FailureKind::Closed, "closed without an answer"},
      {"SSH-2.0-x\r\n", FailureKind::Malformed, "not HTTP/1"},
      {"HTTP/1.1 200 OK\r\nContent-Le", FailureKind::Closed, "answer's end"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", FailureKind::Closed,
       "closed before the answer's end"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
       "chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
       FailureKind::Malformed, "not HTTP/1"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(70000, 'x'),
       FailureKind::TooLarge, "header is too large"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n",
       FailureKind::TooLarge, "body is too large"},
  };
  for (const auto &[bytes, kind, why] : cases) {
    LoopbackServer server([&bytes = bytes](Peer &peer) {
      peer.readRequest();
      peer.send(bytes);
    });
    Client client = clientOf(server.url());
    ClientRequest request = post("{}");
    request.maxBodyBytes = 1000;
    expectFailure(ask(client, request), kind, why);
  }
}

TEST(ClientTest, AReset) {
  LoopbackServer server([](Peer &peer) {
    peer.readRequest();
    peer.sendChunkedHead();
    peer.sendChunk("abc");
    std::this_thread::sleep_for(50ms);
    peer.reset();
  });
  Client client = clientOf(server.url());
  Record record = ask(client, post("{}"));
  EXPECT_EQ(record.body, "abc");
  expectFailure(record, FailureKind::Closed, "Connection reset by peer");
}

TEST(ClientTest, ARequestHasATimeLimit) {
  LoopbackServer server([](Peer &peer) {
    peer.readRequest();
    peer.sendChunkedHead();
    while (peer.sendChunk("x")) // for ever, without a pause
      std::this_thread::sleep_for(10ms);
  });
  Client client = clientOf(server.url());
  ClientRequest request = post("{}");
  request.timeout = 400ms;
  TimePoint began = steady_clock::now();
  Record record = ask(client, request);
  expectFailure(record, FailureKind::Timeout, "no complete answer in time");
  EXPECT_GE(steady_clock::now() - began, 400ms);
  EXPECT_GT(record.body.size(), 1u);
}

TEST(ClientTest, SoHasTheConnection) {
  // With a full queue of connections that are not accepted, further ones get no
  // answer.
  uint16_t port = 0;
  int listener = listenOnLoopback(port);
  listen(listener, 0);
  std::string url = "http://127.0.0.1:" + std::to_string(port);
  ClientOptions options;
  options.connectTimeout = 200ms;
  Record unheard[4];
  Client filler = clientOf(url);
  for (Record &record : unheard)
    start(filler, record, post("{}"));
  filler.run(steady_clock::now() + 50ms);
  Client client = clientOf(url, options);
  expectFailure(ask(client, post("{}")), FailureKind::Timeout,
                "cannot connect in time");
  close(listener);
}

TEST(ClientTest, AbortAtAnyMoment) {
  std::atomic<int> gone = 0;
  LoopbackServer server([&](Peer &peer) {
    std::string request = peer.readRequest();
    if (request.ends_with("stream"))
      peer.sendChunkedHead() && peer.sendChunk("abc");
    if (!request.empty() && peer.waitForClose())
      ++gone;
  });
  Record record;
  Client client = clientOf(server.url());
  // Aborts at once, before the connection exists.
  client.abort(start(client, record, post("silent")));
  EXPECT_EQ(client.inFlight(), 0u);
  // Aborts before the first byte of the answer.
  CallId silent = start(client, record, post("silent"));
  client.run(steady_clock::now() + 50ms);
  for (int i = 0; i < 20; ++i)
    client.run(steady_clock::now() + 5ms);
  client.abort(silent);
  // Aborts in the middle, from within the handler.
  CallId streamed = 0;
  streamed =
      start(client, record, post("stream"), [&] { client.abort(streamed); });
  EXPECT_TRUE(runUntil(client, [&] { return !record.body.empty(); }));
  EXPECT_EQ(client.inFlight(), 0u);
  EXPECT_TRUE(runUntil(client, [&] { return gone == 2; }));
  // Aborts again, and aborts an unknown id.
  client.abort(streamed);
  client.abort(12345);
  EXPECT_EQ(record.body, "abc");
  EXPECT_FALSE(record.isOver());
}

TEST(ClientTest, HandlersCanStartRequests) {
  LoopbackServer server([](Peer &peer) {
    while (!peer.readRequest().empty())
      peer.send(answer("200 OK", "x"));
  });
  Record first, second;
  Client client = clientOf(server.url());
  start(client, first, post("1"), [&] { start(client, second, post("2")); });
  EXPECT_TRUE(runUntil(client, [&] { return second.isOver(); }));
  EXPECT_EQ(second.ends, 1);
}

/// The server answers before it has read the whole request.
TEST(ClientTest, AnEarlyAnswerToALargeBody) {
  LoopbackServer server([](Peer &peer) {
    char some[100];
    recv(peer.fd, some, sizeof(some), 0);
    peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    while (recv(peer.fd, some, sizeof(some), 0) > 0)
      ;
  });
  Client client = clientOf(server.url());
  Record record = ask(client, post(std::string(50'000'000, 'x')));
  EXPECT_EQ(record.status, 413);
  EXPECT_EQ(record.body, "no");
  EXPECT_EQ(record.ends, 1);
}

TEST(ClientTest, RefusesRequestsThatBreakTheFraming) {
  Client client = clientOf("http://127.0.0.1:1");
  auto refusal = [&](auto change) {
    ClientRequest request = post("{}");
    change(request);
    Record record;
    Expected<CallId> id =
        client.start(request, std::make_unique<Recorder>(record));
    EXPECT_TRUE(record.destroyed);
    return id ? "" : id.status().message();
  };
  using Request = ClientRequest &;
  EXPECT_EQ(refusal([](Request r) { r.method = "GET /x"; }),
            "request: 'GET /x' is not a method");
  EXPECT_EQ(refusal([](Request r) { r.target = "v1"; }),
            "request: 'v1' is not a path");
  EXPECT_EQ(refusal([](Request r) { r.target = "/a HTTP/1.1\r\nX: y"; }),
            "request: '/a HTTP/1.1??X: y' is not a path");
  EXPECT_EQ(refusal([](Request r) { r.fields = {{"X", "a\r\nY: b"}}; }),
            "request: a control character in the field X");
  EXPECT_EQ(refusal([](Request r) { r.fields = {{"X y", "a"}}; }),
            "request: 'X y' cannot be the name of a field");
  EXPECT_EQ(refusal([](Request r) { r.fields = {{"content-length", "3"}}; }),
            "request: the field Content-Length is the client's own");
  EXPECT_EQ(client.inFlight(), 0u);
}

TEST(ClientTest, AnUnknownHostAndUnreadableCertificates) {
  Expected<Client> nowhere =
      Client::create(*parseUrl("http://no-such-host.invalid"));
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.status().message(),
              HasSubstr("cannot find the host 'no-such-host.invalid'"));
  ClientOptions options;
  options.caFile = "/no/such/file.pem";
  Expected<Client> untrusting =
      Client::create(*parseUrl("https://127.0.0.1"), options);
  ASSERT_FALSE(untrusting);
  EXPECT_THAT(untrusting.status().message(),
              HasSubstr("/no/such/file.pem: cannot read certificates"));
}

/// Serves all clients on one thread: accepts, reads a request from each, then
/// sends a piece to each, round after round.
void serveInRounds(int listener, size_t count, int rounds) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i < count; ++i)
    peers.push_back(std::make_unique<Peer>(accept(listener, nullptr, nullptr)));
  for (auto &peer : peers) {
    peer->readRequest();
    peer->sendChunkedHead();
  }
  for (int round = 0; round < rounds; ++round)
    for (auto &peer : peers)
      peer->sendChunk("data: x\n\n");
  for (auto &peer : peers) {
    peer->sendChunk("");
    close(peer->fd);
  }
}

TEST(ClientTest, AThousandAtOnce) {
  constexpr size_t count = 1000;
  constexpr int rounds = 20;
  raiseOpenFileLimit();
  uint16_t port = 0;
  int listener = listenOnLoopback(port);
  std::thread server(serveInRounds, listener, count, rounds);
  std::vector<Record> records(count);
  Client client = clientOf("http://127.0.0.1:" + std::to_string(port));
  for (Record &record : records)
    start(client, record, post("{}"));
  EXPECT_EQ(client.inFlight(), count);
  // No request is answered before all have come.
  EXPECT_TRUE(runUntil(client, [&] { return client.inFlight() == 0; }));
  server.join();
  close(listener);
  for (const Record &record : records) {
    ASSERT_FALSE(record.failure) << record.failure->message;
    ASSERT_EQ(record.body.size(), rounds * 9u);
  }
}

/// Requests in flight are dropped silently when the client is destroyed.
TEST(ClientTest, GoesWithRequestsInFlight) {
  LoopbackServer server([](Peer &peer) {
    peer.readRequest();
    peer.waitForClose();
  });
  Record records[3];
  {
    Client client = clientOf(server.url());
    start(client, records[0], post("{}"));
    start(client, records[1], post("{}"));
    for (int i = 0; i < 10; ++i)
      client.run(steady_clock::now() + 5ms);
    Client moved = std::move(client);
    start(moved, records[2], post("{}"));
    moved.run(steady_clock::now() + 5ms);
  }
  for (const Record &record : records) {
    EXPECT_TRUE(record.destroyed);
    EXPECT_FALSE(record.isOver());
  }
}

/// run() returns in time, because a load generator starts requests by it.
TEST(ClientTest, RunEndsInTime) {
  Client client = clientOf("http://127.0.0.1:1");
  for (int i = 0; i < 5; ++i) {
    TimePoint until = steady_clock::now() + 3500us;
    while (steady_clock::now() < until)
      client.run(until);
    EXPECT_LT(steady_clock::now() - until, 10s);
  }
  TimePoint began = steady_clock::now();
  client.run(began - 1s);
  EXPECT_LT(steady_clock::now() - began, 10s);
}

/// A waiting client uses no processor time, whenever its wait ends.
TEST(ClientTest, RunSleepsWhileNothingHappens) {
  Client client = clientOf("http://127.0.0.1:1");
  for (int i = 0; i < 3; ++i) {
    TimePoint until = steady_clock::now() + 5ms;
    client.run(until);
    EXPECT_GE(steady_clock::now(), until);
  }
}

} // namespace
