//===- RaceTest.cpp - clients that come and go at random ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

#include <random>
#include <thread>

using namespace sluice;
using namespace sluice::serve::test;

using sluice::http::test::eventually;

namespace {

class RaceTest : public ServeTest {
protected:
  /// Runs a client whose requests are read to the end, left at some point, or
  /// aborted.
  void client(unsigned seed, int requests) {
    std::mt19937 random(seed);
    for (int i = 0; i < requests; ++i) {
      std::string id = std::to_string(seed) + '-' + std::to_string(i);
      json body = {{"prompt", std::string(random() % 300 + 1, 'p')},
                   {"n", random() % 3 + 1},
                   {"stream", random() % 2 == 0}};
      if (random() % 3 == 0)
        body["stop"] = {"zz", "y"};
      auto connection =
          send("/v1/completions", body, "X-Request-Id: " + id + "\r\n");
      switch (random() % 5) {
      case 0:
        connection->reset();
        break;
      case 1:
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
        connection->close();
        break;
      case 2:
        connection->readUntil("\r\n\r\n");
        connection->reset();
        break;
      case 3: {
        int status = post("/abort_request", {{"request_id", id}}).status;
        EXPECT_TRUE(status == 200 || status == 404) << status;
        [[fallthrough]];
      }
      default: {
        ReadAnswer answer = connection->read();
        EXPECT_TRUE(answer.complete);
        EXPECT_TRUE(answer.status == 200 || answer.status == 499)
            << answer.status << answer.body;
      }
      }
    }
  }
};

} // namespace

/// Whatever the clients do, each request ends once, and nothing is left.
TEST_F(RaceTest, EveryRequestEndsOnce) {
  options.drainSeconds = 1000;
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += static_cast<char>('a' + i % 26);
  engine.answerAll(text);
  start();
  std::vector<std::thread> clients;
  for (unsigned seed = 1; seed <= 4; ++seed)
    clients.emplace_back([this, seed] { client(seed, 60); });
  for (std::thread &thread : clients)
    thread.join();
  EXPECT_TRUE(eventually([&] { return engine.open() == 0; }));
  EXPECT_TRUE(eventually([&] {
    double ended = 0;
    for (const char *reason :
         {"stop", "length", "cancelled", "timeout", "error"})
      ended +=
          std::stod(metric("sluice:request_success_total{finished_reason=\"" +
                           std::string(reason) + "\"}"));
    return ended == static_cast<double>(engine.submitted());
  }));
  auto begin = std::chrono::steady_clock::now();
  server->drain([] { return false; });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, http::test::patience);
}

/// The server stops while requests come.
TEST_F(RaceTest, StopWhileRequestsCome) {
  engine.answerAll("some text");
  start();
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i)
    clients.emplace_back([this] {
      for (int k = 0; k < 100; ++k) {
        auto connection =
            send("/v1/completions", {{"prompt", "p"}, {"stream", k % 2 == 0}});
        ReadAnswer answer = connection->read();
        if (answer.status == 0) // the server has stopped
          return;
        EXPECT_TRUE(answer.status == 200 || answer.status == 503)
            << answer.status;
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server->stop();
  for (std::thread &thread : clients)
    thread.join();
  EXPECT_EQ(engine.open(), 0u);
}
