//===- ScaleTest.cpp - many streams at once -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OpenFiles.h"
#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice::http;
using namespace sluice::http::test;

static int64_t residentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Scale, AThousandStreamsAreCheap) {
  constexpr int streams = 1000;
  int64_t files = sluice::raiseOpenFileLimit();
  if (files < 2 * streams + 100)
    GTEST_SKIP() << "a process may open " << files << " files here";

  ServerOptions options = testOptions();
  options.connections = 2 * streams + 1; // one client may have half of them
  TestServer server(options);
  int64_t before = residentBytes(), heapBefore = heapBytes();
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  clients.reserve(streams);
  exchanges.reserve(streams);
  for (int i = 0; i < streams; ++i)
    clients.push_back(std::make_unique<TestClient>(server.port()));
  // About what a client of the API sends.
  std::string request =
      post("/x", std::string(500, 'x'),
           "User-Agent: test/1.0\r\nAccept: text/event-stream\r\n"
           "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n"
           "Content-Type: application/json\r\n");
  for (auto &client : clients) {
    client->send(request);
    exchanges.push_back(server.next());
    ASSERT_TRUE(exchanges.back());
    exchanges.back()->startStream(200, {});
    exchanges.back()->write("data: first\n\n");
    client->readUntil("first\n\n\r\n");
  }
  int64_t each = (heapBytes() - heapBefore) / streams;
  std::printf("bytes for each open stream: %lld allocated, %lld resident\n",
              static_cast<long long>(each),
              static_cast<long long>((residentBytes() - before) / streams));
  EXPECT_EQ(server.server->open(), streams);
  EXPECT_LT(each, 8 << 10);

  constexpr int rounds = 20;
  auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round)
    for (auto &exchange : exchanges)
      ASSERT_TRUE(exchange->write("data: {\"token\":\"abc\"}\n\n"));
  for (auto &exchange : exchanges)
    exchange->endStream();
  for (auto &client : clients)
    ASSERT_TRUE(client->readUntil("0\r\n\r\n").ends_with("0\r\n\r\n"));
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("pieces written and read in a second: %.0f\n",
              rounds * streams / seconds);
  EXPECT_TRUE(eventually([&] { return server.server->open() == 0; }));
}
