//===- DrainTest.cpp - draining and stopping the server -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Clock.h"
#include "runtime/serve/test/ServeFixture.h"

#include <atomic>
#include <thread>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using sluice::http::test::eventually;

namespace {

class DrainTest : public ServeTest {
protected:
  void beginDrain() {
    draining = std::thread([this] {
      server->drain([this] { return hurry.load(); });
      isDone = true;
    });
    EXPECT_TRUE(eventually([this] { return get("/health").status == 503; }));
  }
  ~DrainTest() override {
    if (draining.joinable())
      draining.join();
  }

  std::atomic<bool> hurry{false}, isDone{false};
  std::thread draining;
};

const json plain = {{"prompt", "p"}};
const json streamed = {{"prompt", "p"}, {"stream", true}};

} // namespace

TEST_F(DrainTest, WhatRunsIsFinishedAndNothingNewTaken) {
  start();
  auto client = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  beginDrain();
  ReadAnswer refused = post("/v1/completions", plain);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("Retry-After"), "5");
  EXPECT_EQ(errorOf(refused)["message"], "the server is shutting down");
  EXPECT_FALSE(isDone);
  engine.tell(0, "done");
  engine.end(0, FinishReason::Stop);
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(bodyOf(answer)["choices"][0]["text"], "done");
  draining.join();
  EXPECT_FALSE(TestClient(server->port()).connected());
}

TEST_F(DrainTest, WhatTakesTooLongIsCancelledWithAnError) {
  options.drainSeconds = 0.2;
  start();
  auto whole = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  auto stream = send("/v1/completions", streamed);
  ASSERT_TRUE(engine.wait(1));
  engine.tell(1, "some");
  stream->readUntil("\n\n");
  beginDrain();
  ReadAnswer answer = whole->read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(errorOf(answer)["code"], "shutting_down");
  std::string rest = stream->readUntil("data: [DONE]\n\n");
  EXPECT_NE(rest.find("\"code\":\"shutting_down\""), rest.npos) << rest;
  draining.join();
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_EQ(engine.finished(1), FinishReason::Cancelled);
  EXPECT_EQ(engine.open(), 0u);
}

TEST_F(DrainTest, ASecondSignalEndsItAtOnce) {
  options.drainSeconds = 1000;
  start();
  auto client = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  beginDrain();
  Time asked = pipeline::now();
  hurry = true;
  EXPECT_EQ(client->read().status, 503);
  draining.join();
  EXPECT_LT(pipeline::now() - asked, http::test::patience);
}

TEST_F(DrainTest, AnIdleServerEndsAtOnce) {
  options.drainSeconds = 1000;
  start();
  TestClient idle(server->port());
  idle.send(http::test::get("/health"));
  EXPECT_EQ(idle.read().status, 200);
  Time asked = pipeline::now();
  server->drain([] { return false; });
  EXPECT_LT(pipeline::now() - asked, http::test::patience);
  EXPECT_TRUE(idle.closedByServer());
  server->stop();
}

TEST_F(DrainTest, WhoWatchesIsToldTheEnd) {
  start();
  TestClient watcher(server->port());
  watcher.send(http::test::get("/status/events"));
  watcher.readUntil("data: {");
  server->drain([] { return false; });
  EXPECT_TRUE(watcher.readAll().ends_with("0\r\n\r\n"));
}

/// Among the requests are one that was not read yet and one without an answer.
TEST_F(DrainTest, StopEndsEverything) {
  options.threads = 1;
  start();
  auto running = send("/v1/completions", plain);
  ASSERT_TRUE(engine.wait(0));
  server->stop();
  EXPECT_EQ(running->read().status, 503);
  EXPECT_EQ(engine.open(), 0u);
}

TEST_F(DrainTest, AServerThatNeverStartedEnds) {
  auto made = ApiServer::create(options, model, "1", engine);
  ASSERT_TRUE(made);
}
