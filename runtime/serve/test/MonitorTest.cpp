//===- MonitorTest.cpp - the live picture and the log ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Monitor.h"

#include "runtime/serve/test/ServeFixture.h"

#include <fcntl.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using sluice::http::test::eventually;
using sluice::http::test::Signal;

using MonitorTest = ServeTest;

/// The interval is two seconds with 4 steps.
TEST_F(MonitorTest, AnEventIsAboutItsInterval) {
  StatusMark before, now;
  before.status.head.steps = 6;
  before.status.ranks = {{"stage 0", 6, 60, 2, 500}, {"draft", 0, 0, 0, 0}};
  now.at = std::chrono::seconds(2);
  now.tokens = 30;
  pipeline::HeadStatus &head = now.status.head;
  head.running = 3;
  head.waiting = 2;
  head.preempted = 1;
  head.pages = 10;
  head.pagesUsed = 4;
  head.pagesPinned = 1;
  head.steps = 10;
  head.promptRows = 100;
  head.certainRows = 8;
  head.guessRows = 4;
  head.speculation = {.launched = 5, .accepted = 3, .cancelled = 1};
  now.status.ranks = {{"stage 0", 10, 160, 4, 1'000'000'500},
                      {"draft", 4, 8, 0, 9'000'000'000}};

  json event = json::parse(statusJson("m", before, now));
  EXPECT_GT(event["time"], 1.7e9);
  event.erase("time");
  EXPECT_EQ(event, json::parse(R"({
    "model": "m", "interval": 2.0, "running": 3, "waiting": 2, "paused": 1,
    "pages": {"all": 10, "used": 4, "kept": 1},
    "tokens_per_second": 15.0, "prompt_tokens_per_second": 50.0,
    "steps_per_second": 2.0,
    "rows_per_step": {"prompt": 25.0, "certain": 2.0, "guesses": 1.0},
    "acceptance": 0.75, "left_per_step": 0.5,
    "lanes": [{"name": "stage 0", "busy": 0.5, "rows_per_second": 50.0},
              {"name": "draft", "busy": 1.0, "rows_per_second": 4.0}]})"));
}

TEST_F(MonitorTest, NothingHappened) {
  json event = json::parse(statusJson("m\xff", {}, {}));
  EXPECT_EQ(event["acceptance"], nullptr);
  EXPECT_EQ(event["rows_per_step"]["prompt"], 0);
  EXPECT_EQ(event["tokens_per_second"], 0);
  EXPECT_EQ(event["model"], "m\xef\xbf\xbd");
}

TEST_F(MonitorTest, EventsComeTwiceASecond) {
  start();
  TestClient watcher(server->port());
  watcher.send(http::test::get("/status/events"));
  std::string head = watcher.readUntil("\r\n\r\n");
  EXPECT_NE(head.find("text/event-stream"), head.npos) << head;
  watcher.readUntil("data: {");
  auto first = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(watcher.readUntil("data: {").ends_with("data: {"));
  auto took = std::chrono::steady_clock::now() - first;
  EXPECT_GT(took, std::chrono::milliseconds(500));
  EXPECT_LT(took, std::chrono::milliseconds(4000));
}

TEST_F(MonitorTest, TooManyWatchersAreRefused) {
  start();
  std::vector<std::unique_ptr<TestClient>> watchers;
  for (size_t i = 0; i < Monitor::maxWatchers; ++i) {
    watchers.push_back(std::make_unique<TestClient>(server->port()));
    watchers.back()->send(http::test::get("/status/events"));
    ASSERT_NE(watchers.back()->readUntil("\r\n\r\n").find(" 200 "),
              std::string::npos);
  }
  EXPECT_EQ(get("/status/events").status, 503);
  watchers.clear();
  EXPECT_TRUE(eventually([&] {
    TestClient client(server->port());
    client.send(http::test::get("/status/events"));
    return client.readUntil("\r\n\r\n").find(" 200 ") != std::string::npos;
  }));
}

TEST_F(MonitorTest, OneTenantsWatchersGiveWayToThoseOfAnother) {
  options.apiKeys = {"one", "two"};
  start();
  auto watch = [&](const std::string &key) {
    auto watcher = std::make_unique<TestClient>(server->port());
    watcher->send("GET /status/events HTTP/1.1\r\nHost: localhost\r\n"
                  "Authorization: Bearer " +
                  key + "\r\n\r\n");
    EXPECT_NE(watcher->readUntil("\r\n\r\n").find(" 200 "), std::string::npos);
    return watcher;
  };
  std::vector<std::unique_ptr<TestClient>> first;
  for (size_t i = 0; i < Monitor::maxWatchers; ++i)
    first.push_back(watch("one"));
  auto other = watch("two");
  EXPECT_NE(other->readUntil("data: {").find("data: {"), std::string::npos);
  // The latest one has ended, and the others go on.
  const std::string end = "0\r\n\r\n";
  EXPECT_TRUE(first.back()->readUntil(end).ends_with(end));
  EXPECT_NE(first[0]->readUntil("data: {").find("data: {"), std::string::npos);
}

/// The monitor records the rows of steps without a request for the metrics.
TEST_F(MonitorTest, StepsAreCounted) {
  start();
  EngineStatus status;
  status.head.steps = 2;
  status.head.stepRows[0] = 5;
  status.head.stepRows[1] = 300;
  engine.setStatus(status);
  EXPECT_TRUE(becomes("sluice:iteration_tokens_total_count", "2"));
  EXPECT_EQ(metric("sluice:iteration_tokens_total_sum"), "305");
  EXPECT_EQ(metric("sluice:iteration_tokens_total_bucket{le=\"8\"}"), "1");
}

TEST_F(MonitorTest, HealthSaysWhereNoStepEnds) {
  options.stallSeconds = 0.3;
  start();
  EngineStatus status;
  status.head.steps = 5;
  engine.setStatus(status);
  EXPECT_EQ(get("/health").status, 200);
  status.head.running = 1;
  engine.setStatus(status);
  ASSERT_TRUE(eventually([&] { return get("/health").status == 503; }));
  EXPECT_EQ(errorOf(get("/health"))["message"], "no step has ended for 0 s");
  status.head.steps = 6;
  engine.setStatus(status);
  EXPECT_TRUE(eventually([&] { return get("/health").status == 200; }));
}

namespace {

/// Work of the pool that stands still until it may go on.
class StuckWork final : public WorkItem {
public:
  StuckWork(Pace stuckIn, Signal &mayGoOn)
      : stuckIn(stuckIn), mayGoOn(mayGoOn) {}
  bool begin(Pace pace) override {
    if (pace == stuckIn)
      mayGoOn.wait();
    return pace == stuckIn;
  }
  void expire() override {}
  void refuse() override {}
  void proceed() override { mayGoOn.wait(); }

private:
  const Pace stuckIn;
  Signal &mayGoOn;
};

} // namespace

/// Each kind of the pool's work can be stuck while the others go on.
TEST_F(MonitorTest, SaysWhereThePoolIsStuck) {
  using Pace = WorkItem::Pace;
  using Add = void (*)(WorkPool &, std::shared_ptr<WorkItem>);
  const Add begin = [](WorkPool &pool, std::shared_ptr<WorkItem> item) {
    pool.begin(std::move(item), /*tenant=*/1);
  };
  const Add proceed = [](WorkPool &pool, std::shared_ptr<WorkItem> item) {
    pool.proceed(std::move(item));
  };
  struct Kind {
    Pace stuckIn;
    Add add;
    const char *what;
  };
  for (const Kind &kind :
       {Kind{Pace::Quick, begin, "the threads that read requests"},
        Kind{Pace::Quick, proceed, "the threads that read requests"},
        Kind{Pace::Long, begin, "the threads that read long requests"}}) {
    Signal mayGoOn;
    WorkPool pool(/*beginsWaiting=*/4);
    ASSERT_TRUE(pool.start({.quick = 2, .slow = 1}).ok());
    ServeMetrics metrics("m", "1");
    RequestLog log(STDERR_FILENO);
    const StallLimits limits{.usual = std::chrono::milliseconds(100),
                             .longBegins = 3};
    Monitor monitor("m", engine, pool, metrics, log, limits);
    ASSERT_TRUE(monitor.start().ok());
    kind.add(pool, std::make_shared<StuckWork>(kind.stuckIn, mayGoOn));
    ASSERT_TRUE(eventually([&] { return !monitor.working().ok(); }));
    EXPECT_EQ(monitor.working().message(),
              std::string(kind.what) + " have been stuck for 0 s");
    mayGoOn.raise();
    EXPECT_TRUE(eventually([&] { return monitor.working().ok(); }));
    monitor.stop();
    pool.stop();
  }
}

TEST_F(MonitorTest, HealthSaysWhereTheModelGivesNoNumbers) {
  start();
  EngineStatus status;
  ResultRow good, bad;
  bad.error = "stage 0: behind position 7: the logit of token 1 is nan";
  bad.isNotFinite = true;
  ResultRow refused;
  refused.error = "of the request alone";
  auto answer = [&](std::vector<ResultRow> rows) {
    status.head.noteAnswers(rows);
    engine.setStatus(status);
  };
  // Answers of one step count once, and not at all beside a good answer.
  answer({bad, bad, bad});
  answer({bad, good});
  answer({bad, refused});
  answer({bad});
  EXPECT_TRUE(becomes("sluice:nonfinite_answers_total", "6"));
  EXPECT_EQ(get("/health").status, 200);
  answer({bad});
  ASSERT_TRUE(eventually([&] { return get("/health").status == 503; }));
  EXPECT_EQ(errorOf(get("/health"))["message"],
            "the model gives no numbers any more; first: " + bad.error);
  answer({good});
  EXPECT_TRUE(eventually([&] { return get("/health").status == 200; }));
}

TEST_F(MonitorTest, StepsMayTakeTheirTime) {
  using std::chrono::milliseconds, std::chrono::seconds;
  const StallLimits limits;
  pipeline::HeadStatus head;
  EXPECT_EQ(limits.ofSteps(head), seconds(60));
  head.noteStep(std::vector<StageTiming>{{.rows = 1, .busyNanos = 1000}});
  EXPECT_EQ(limits.ofSteps(head), seconds(10));
  head.maxRows = 512; // such a step is in progress, for which 2 ms are enough
  EXPECT_EQ(limits.ofSteps(head), seconds(10));
  head.noteStep(std::vector<StageTiming>{{.rows = 1, .busyNanos = 10'000'000}});
  EXPECT_EQ(limits.ofSteps(head), milliseconds(512 * 4 * 10));
  head.noteStep(
      std::vector<StageTiming>{{.rows = 1, .busyNanos = 100'000'000}});
  EXPECT_EQ(limits.ofSteps(head), seconds(60));
  head.noteStep(
      std::vector<StageTiming>{{.rows = 512, .busyNanos = 20'000'000'000},
                               {.rows = 512, .busyNanos = 1'000'000'000}});
  EXPECT_EQ(limits.ofSteps(head), seconds(84));
}

TEST_F(MonitorTest, TheLogHasALineForEachRequest) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  options.logRequests = true;
  engine.answerAll("ok");
  start();
  post("/v1/completions", {{"prompt", "abc"}});
  get("/nothing?secret=1");
  server->stop(); // writes the remaining lines
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(
      std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
  ::close(ends[0]);
  EXPECT_NE(text.find("127.0.0.1 \"POST /v1/completions\" 200 "), text.npos)
      << text;
  EXPECT_NE(text.find(" prompt_tokens=3 completion_tokens=2\n"), text.npos)
      << text;
  EXPECT_NE(text.find("\"GET /nothing\" 404 "), text.npos) << text;
  EXPECT_EQ(text.find("secret"), text.npos) << text;
}

/// A log without a reader does not block: lines are dropped and counted.
TEST_F(MonitorTest, ALogThatNobodyReads) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  RequestLog log(ends[1]);
  const std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i)
    log.add(line);
  log.flush(); // writes as much as the pipe holds
  log.flush();
  std::string text;
  char part[4096];
  for (int i = 0; i < 1000 && text.find("left out") == text.npos; ++i) {
    ssize_t count = ::read(ends[0], part, sizeof part);
    ASSERT_GT(count, 0);
    text.append(part, static_cast<size_t>(count));
    log.flush();
  }
  size_t lines = (RequestLog::maxBytes - 1) / 1001;
  EXPECT_NE(text.find("(" + std::to_string(2000 - lines) + " lines left out"),
            text.npos)
      << text.substr(text.size() - 100);
  ::close(ends[0]);
  ::close(ends[1]);
}
