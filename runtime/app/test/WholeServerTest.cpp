//===- WholeServerTest.cpp - a serving process and many clients -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the whole server as a process, with requests of all kinds at once: equal
// requests get equal answers, clients may leave at any time, and the server
// ends properly. Under a sanitizer, this tests all threads of a server
// together.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/http/test/TestClient.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <thread>

using namespace sluice::http::test;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view completions = "/v1/completions";

class WholeServerTest : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    addTokenizer();
    server = start(
        {"serve", "--port", "0", "--max-num-seqs", "4", "--log-requests"});
    port = waitForPort();
    ASSERT_NE(port, 0);
  }

  /// Returns the port from the server's first message; 0 if it has not come.
  uint16_t waitForPort() const {
    constexpr std::string_view mark = "at http://127.0.0.1:";
    for (int i = 0; i < 6000; ++i) {
      std::ifstream in(folder + "/stderr");
      const std::string said{std::istreambuf_iterator<char>(in), {}};
      if (size_t at = said.find(mark); at != said.npos && said.ends_with('\n'))
        return static_cast<uint16_t>(
            std::atoi(said.c_str() + at + mark.size()));
      std::this_thread::sleep_for(10ms);
    }
    return 0;
  }

  ReadAnswer ask(std::string_view path, const json &body) const {
    TestClient client(port);
    client.send(post(path, body.dump(), "Content-Type: application/json\r\n"));
    return client.read();
  }
  ReadAnswer look(std::string_view path) const {
    TestClient client(port);
    client.send(get(path));
    return client.read();
  }
  std::string textOf(json body) const {
    body["temperature"] = 0;
    body["max_tokens"] = 6;
    ReadAnswer answer = ask(completions, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    json parsed = json::parse(answer.body, nullptr, false);
    return parsed.is_object() ? parsed["choices"].dump() : "";
  }
  /// Begins a stream, reads some of it, and leaves.
  void leaveAStream() const {
    TestClient client(port);
    const json body = {{"prompt", "left"},
                       {"stream", true},
                       {"max_tokens", 20},
                       {"ignore_eos", true}};
    client.send(
        post(completions, body.dump(), "Content-Type: application/json\r\n"));
    client.readUntil("data: ");
  }

  pid_t server = 0;
  uint16_t port = 0;
};

} // namespace

TEST_F(WholeServerTest, ManyClientsAtOnce) {
  constexpr int clients = 6, rounds = 8;
  const json plain = {{"prompt", "abc"}};
  const json several = {{"prompt", {"one", "two"}}, {"n", 2}};
  const json formed = {{"prompt", "x"}, {"grammar", "root ::= [0-9]+"}};
  const std::string wanted[] = {textOf(plain), textOf(several), textOf(formed)};
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      for (int round = 0; round < rounds; ++round) {
        switch ((client + round) % 6) {
        case 0:
          EXPECT_EQ(textOf(plain), wanted[0]);
          break;
        case 1:
          EXPECT_EQ(textOf(several), wanted[1]);
          break;
        case 2:
          EXPECT_EQ(textOf(formed), wanted[2]);
          break;
        case 3:
          leaveAStream();
          break;
        case 4:
          EXPECT_EQ(ask("/tokenize", plain).status, 200);
          EXPECT_EQ(ask(completions, {{"prompt", 3}}).status, 400);
          break;
        default:
          EXPECT_EQ(look("/metrics").status, 200);
          EXPECT_EQ(look("/health").status, 200);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  ::kill(server, SIGTERM);
  Finished end = finish(server);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("Sanitizer"))) << end.err;
}

TEST_F(WholeServerTest, EndsInOrderUnderRequests) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int client = 0; client < 4; ++client)
    threads.emplace_back([&] {
      while (!ends.load()) {
        TestClient each(port);
        if (!each.connected())
          break;
        each.send(post(completions, R"({"prompt":"abc","max_tokens":20})",
                       "Content-Type: application/json\r\n"));
        const int status = each.read().status;
        EXPECT_TRUE(status == 200 || status == 503 || status == 0) << status;
      }
    });
  std::this_thread::sleep_for(100ms);
  ::kill(server, SIGTERM);
  Finished end = finish(server);
  ends.store(true);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("Sanitizer"))) << end.err;
}
