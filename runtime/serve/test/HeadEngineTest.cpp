//===- HeadEngineTest.cpp - the server around a head ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/HeadEngine.h"

#include "runtime/serve/test/ServeFixture.h"

#include <atomic>
#include <thread>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using pipeline::HeadLoop;
using sluice::http::test::eventually;

namespace {

/// Stages that answer each row with the next byte: "a" is continued as
/// "bcd...". While they are held, they do not answer.
class Alphabet final : public pipeline::HeadLinks {
public:
  Status launch(const StepFrame &frame) override {
    if (isHeld)
      return {};
    ResultFrame results;
    results.step = frame.step;
    results.launched = frame.launched;
    results.timings = {
        {.rows = static_cast<int32_t>(frame.rows.size()), .busyNanos = 1000}};
    for (const Row &row : frame.rows)
      if (row.wantsOutput)
        results.results.push_back(
            {row.node, row.request, (row.token + 1) % 256, {}});
    loop->onResults(std::move(results));
    return {};
  }
  Status draft(StepFrame) override { return {}; }
  Status cancel(const EpochMark &, Time) override { return {}; }
  void reported(const TokenEvent &, Time) override {}
  void reported(const RequestEnd &, Time) override {}
  void note(const PolicyNote &, Time) override {}

  HeadLoop *loop = nullptr;
  std::atomic<bool> isHeld{false};
};

Scheduler makeScheduler() {
  HeadLimits limits;
  limits.requests = 2;
  limits.contextLength = 512;
  std::array<Time, StepTimes::rowCounts.size()> steps;
  steps.fill(std::chrono::microseconds(10));
  SpeculationOptions options;
  options.mode = SpeculationMode::Off;
  Expected<Head> head =
      Head::create(limits, options,
                   {StepTimes(steps), std::chrono::milliseconds(1), Time(0),
                    StepTimes(steps)});
  EXPECT_TRUE(head) << head.status().message();
  SchedulerLimits waiting;
  waiting.waiting = 1;
  Expected<Scheduler> scheduler = Scheduler::create(head.take(), waiting);
  EXPECT_TRUE(scheduler) << scheduler.status().message();
  return scheduler.take();
}

class HeadEngineTest : public testing::Test {
protected:
  HeadEngineTest()
      : loop(makeScheduler(), links),
        engine(Status::error("the model is not ready yet")),
        thread([this] { loop.run(); }) {
    links.loop = &loop;
  }
  ~HeadEngineTest() override {
    server.reset();
    loop.close();
    thread.join();
  }
  void start() {
    ServeOptions options;
    options.port = 0;
    openai::ModelOptions model = testModel();
    model.contextLength = 512;
    auto made = ApiServer::create(options, model, "1", engine);
    ASSERT_TRUE(made) << made.status().message();
    server = made.take();
    ASSERT_TRUE(server->start().ok());
    engine.ready(loop, [] { return WeightCounters{500, 3}; });
  }
  std::unique_ptr<TestClient> send(const json &body) {
    auto client = std::make_unique<TestClient>(server->port());
    client->send(http::test::post("/v1/completions", body.dump(), jsonField));
    return client;
  }

  Alphabet links;
  HeadLoop loop;
  HeadEngine engine;
  std::thread thread;
  std::unique_ptr<ApiServer> server;
};

} // namespace

TEST_F(HeadEngineTest, IsHealthyFromReadyToFailed) {
  EXPECT_EQ(engine.healthy().message(), "the model is not ready yet");
  engine.ready(loop, [] { return WeightCounters{500, 3}; });
  EXPECT_TRUE(engine.healthy().ok());
  EXPECT_EQ(engine.status().weights.bytes, 500u);
  EXPECT_EQ(engine.status().weights.passes, 3u);
  engine.fail(Status::error("rank 1 has gone"));
  engine.fail(Status::error("rank 2 has gone"));
  engine.ready(loop, [] { return WeightCounters{500, 3}; });
  EXPECT_EQ(engine.healthy().message(), "rank 1 has gone");
}

TEST_F(HeadEngineTest, TokensOfAHeadBecomeText) {
  start();
  ReadAnswer answer = send({{"prompt", "a"}, {"max_tokens", 5}})->read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(bodyOf(answer)["choices"][0]["text"], "bcdef");
  EXPECT_EQ(bodyOf(answer)["choices"][0]["finish_reason"], "length");

  answer = send({{"prompt", {"a", "k"}},
                 {"max_tokens", 20},
                 {"stop", "m"},
                 {"stream", true}})
               ->read();
  EXPECT_EQ(textOf(eventsOf(answer.body), 0), "bcdefghijkl");
  EXPECT_EQ(textOf(eventsOf(answer.body), 1), "l");
}

TEST_F(HeadEngineTest, LanesSumUpSteps) {
  start();
  send({{"prompt", "a"}, {"max_tokens", 300}})->read();
  // Each step has one row, except the first, which has the prompt's.
  EXPECT_TRUE(eventually([&] { return engine.status().head.running == 0; }));
  EngineStatus status = engine.status();
  ASSERT_EQ(status.ranks.size(), 1u);
  EXPECT_EQ(status.ranks[0].name, "stage 0");
  EXPECT_EQ(status.ranks[0].steps, status.head.steps);
  EXPECT_GT(status.ranks[0].rows, 0);
  EXPECT_GT(status.ranks[0].busyNanos, 0);
}

/// Two requests run, one waits, and the next is refused. When clients go, their
/// places are free.
TEST_F(HeadEngineTest, QueueAndLeave) {
  links.isHeld = true;
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int64_t i = 0; i < 3; ++i) {
    clients.push_back(send({{"prompt", "a"}}));
    ASSERT_TRUE(eventually([&] {
      pipeline::HeadStatus head = engine.status().head;
      return head.running + head.waiting == i + 1;
    }));
  }
  EXPECT_EQ(engine.status().head.waiting, 1);
  EXPECT_EQ(send({{"prompt", "a"}})->read().status, 429);
  clients.clear();
  EXPECT_TRUE(eventually([&] {
    pipeline::HeadStatus head = engine.status().head;
    return head.running == 0 && head.waiting == 0;
  }));
}

/// A more urgent request takes the last place in the queue.
TEST_F(HeadEngineTest, TheLastInOrderIsRefused) {
  links.isHeld = true;
  start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int64_t i = 0; i < 3; ++i) {
    clients.push_back(send({{"prompt", "a"}, {"priority", i < 2 ? -9 : 0}}));
    ASSERT_TRUE(eventually([&] {
      pipeline::HeadStatus head = engine.status().head;
      return head.running + head.waiting == i + 1;
    }));
  }
  auto urgent = send({{"prompt", "a"}, {"priority", -5}});
  ReadAnswer answer = clients.back()->read();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(errorOf(answer)["code"], "queue_full");
  EXPECT_EQ(send({{"prompt", "a"}, {"priority", -4}})->read().status, 429);
  EXPECT_EQ(engine.status().head.waiting, 1);
  // The urgent request still waits, and runs once there is a place.
  links.isHeld = false;
  clients.front().reset();
  EXPECT_EQ(urgent->read().status, 200);
}

TEST_F(HeadEngineTest, AFailureEndsWhatRuns) {
  links.isHeld = true;
  start();
  auto client = send({{"prompt", "a"}});
  ASSERT_TRUE(eventually([&] { return engine.status().head.running == 1; }));
  engine.fail(Status::error("rank 1 has gone"));
  loop.onFailure(Status::error("rank 1 has gone"));
  ReadAnswer answer = client->read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(errorOf(answer)["message"], "rank 1 has gone");
  EXPECT_EQ(send({{"prompt", "a"}})->read().status, 503);
}
