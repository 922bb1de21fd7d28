//===- RankRuntimeTest.cpp - the end of ranks -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests how ranks end: in order, after a signal, and with complete reports.
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankRuntime.h"

#include "runtime/pipeline/TokenQueue.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <list>

using namespace sluice;
using namespace sluice::pipeline;
using namespace std::chrono_literals;

namespace {

constexpr int64_t vocab = 100;
constexpr int64_t context = 2048;
constexpr uint64_t identity = 7;

PipelineShape shapeOf(int64_t stages) {
  PipelineShape shape;
  shape.identity = identity;
  for (int64_t stage = 0; stage < stages; ++stage)
    shape.stageRanks.push_back(stage + 1);
  shape.ranks = stages + 1;
  shape.vocabSize = vocab;
  shape.hiddenSize = 4;
  shape.contextLength = context;
  return shape;
}

/// A stage that answers token 0 to everything, each time after a while.
class SlowCompute final : public StepCompute {
public:
  SlowCompute(bool takesRows, std::chrono::milliseconds duration,
              std::atomic<int> &steps)
      : takesRows(takesRows), duration(duration), steps(steps) {
    answer.front() = 1;
  }
  bool receives() const override { return takesRows; }
  Status execute(const device::StepInput &) override {
    ++steps;
    std::this_thread::sleep_for(duration);
    return {};
  }
  std::span<const float> logits(int64_t) const override { return answer; }

private:
  bool takesRows;
  std::chrono::milliseconds duration;
  std::atomic<int> &steps;
  std::vector<float> answer = std::vector<float>(vocab);
};

/// A head and two stages, or one stage on a group of two members, each on a
/// rank of this process; the steps of rank 1 are slow.
class SlowPipeline {
public:
  explicit SlowPipeline(std::chrono::milliseconds duration,
                        bool isGroup = false)
      : job(comm::makeInprocJob(3)) {
    for (int64_t rank = 0; rank < 3; ++rank) {
      RankSetup setup;
      setup.shape = shapeOf(isGroup ? 1 : 2);
      setup.shape.ranks = 3;
      setup.settings.speculation.mode = SpeculationMode::Off;
      setup.settings.prefillRows = 8;
      setup.isHead = rank == 0;
      setup.stage = isGroup ? std::min<int64_t>(rank, 1) - 1 : rank - 1;
      if (isGroup && rank > 0)
        setup.group = &groups.emplace_back(*job[size_t(rank)]).collectives;
      if (rank > 0)
        setup.stageSetup.compute = std::make_unique<SlowCompute>(
            setup.stage == 1, rank == 1 ? duration : 0ms, steps);
      Expected<std::unique_ptr<RankRuntime>> made =
          RankRuntime::create(std::move(setup), *job[size_t(rank)]);
      EXPECT_TRUE(made) << made.status().message();
      ranks.push_back(made.take());
    }
    for (std::unique_ptr<RankRuntime> &rank : ranks)
      rank->start();
    for (size_t rank : {1, 2})
      servers.emplace_back([this, rank] {
        served[rank] = ranks[rank]->serve([this, rank] {
          return terminated && (!onlyTerminated || onlyTerminated == rank);
        });
      });
    submit();
    while (steps == 0)
      std::this_thread::sleep_for(1ms);
  }
  ~SlowPipeline() {
    ranks[0]->abort(failure("over"));
    join();
  }

  void submit() {
    ScheduledRequest request;
    request.spec.prompt = {5};
    ranks[0]->head().submit(request, queue);
  }

  void join() {
    for (std::thread &server : servers)
      server.join();
    servers.clear();
  }

  /// Returns the end of the request; nothing if it does not come.
  std::optional<RequestEnd> nextEnd() const {
    while (std::optional<RequestEvent> event = queue->next(now() + 60s))
      if (auto *end = std::get_if<RequestEnd>(&*event))
        return std::move(*end);
    return std::nullopt;
  }

  struct GroupEnd {
    explicit GroupEnd(comm::Communicator &comm)
        : group(comm, {1, 2}), collectives(group) {}
    comm::RankGroup group;
    comm::Collectives collectives;
  };

  std::vector<std::unique_ptr<comm::Communicator>> job;
  std::list<GroupEnd> groups;
  std::atomic<int> steps{0};
  /// Whether the stages' ranks are told to terminate.
  std::atomic<bool> terminated{false};
  size_t onlyTerminated = 0; ///< or the only rank that is told
  std::shared_ptr<TokenQueue> queue = std::make_shared<TokenQueue>();
  std::vector<std::unique_ptr<RankRuntime>> ranks;
  std::vector<std::thread> servers;
  Status served[3];
};

TEST(RankRuntimeTest, StepsThatNoMessageTakesAreRefusedAtTheStart) {
  std::vector<std::unique_ptr<comm::Communicator>> job = comm::makeInprocJob(1);
  RankSetup setup;
  setup.shape = shapeOf(2);
  setup.shape.hiddenSize = int64_t{1} << 16;
  setup.settings.speculation.mode = SpeculationMode::Off;
  setup.settings.prefillRows = 2000;
  setup.stage = 0;
  EXPECT_THAT(RankRuntime::create(std::move(setup), *job[0]).status().message(),
              testing::HasSubstr("take a shorter --prefill-chunk than 2000"));
}

/// All ranks get a signal: the head ends them in order, for which it waits for
/// the longest step. No other rank breaks the job meanwhile, whether it
/// computes or is idle.
TEST(RankRuntimeTest, ASignalForAllWaitsForTheLongestStep) {
  SlowPipeline pipeline(3500ms);
  pipeline.terminated = true;
  pipeline.ranks[0]->head().finish(*pipeline.queue, FinishReason::Cancelled);
  Expected<std::vector<RankReport>> reports = pipeline.ranks[0]->shutDown();
  EXPECT_TRUE(reports) << reports.status().message();
  pipeline.join();
  for (size_t rank : {1, 2})
    EXPECT_TRUE(pipeline.served[rank].ok())
        << rank << pipeline.served[rank].message();
}

/// Some ranks get a signal: if the head goes on, they break the job, even
/// during a step.
TEST(RankRuntimeTest, ASignalForSomeBreaksTheJob) {
  for (std::chrono::milliseconds step : {5ms, 3500ms}) {
    SlowPipeline pipeline(step);
    Time start = now();
    pipeline.terminated = true;
    pipeline.join();
    EXPECT_LT(now() - start, 60s);
    EXPECT_EQ(pipeline.served[1].message(), "terminated by a signal");
    std::optional<RequestEnd> end = pipeline.nextEnd();
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->isBroken);
  }
}

/// The second request of a slot works as the first does: a member that is not
/// the group's first, and learns of ends before it gets frames, still breaks
/// the job.
TEST(RankRuntimeTest, ASignalForAMemberOfAGroupBreaksTheJob) {
  SlowPipeline pipeline(5ms, /*isGroup=*/true);
  pipeline.onlyTerminated = 2;
  pipeline.ranks[0]->head().finish(*pipeline.queue, FinishReason::Stop);
  std::optional<RequestEnd> end = pipeline.nextEnd();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->hasFinished());
  pipeline.queue = std::make_shared<TokenQueue>();
  pipeline.submit();
  ASSERT_TRUE(pipeline.queue->next(now() + 60s));
  Time start = now();
  pipeline.terminated = true;
  pipeline.join();
  EXPECT_LT(now() - start, 60s);
  EXPECT_EQ(pipeline.served[2].message(), "terminated by a signal");
}

/// The peer of a rank: a rank that the test plays itself.
class HandRank {
public:
  explicit HandRank(comm::Communicator &comm)
      : comm(comm), codec(identity, limits()) {
    comm.start({[](int64_t) { return true; },
                [this](comm::Message message) {
                  Expected<comm::FrameHeader> header =
                      codec.readHeader(message.bytes);
                  ASSERT_TRUE(header) << header.status().message();
                  ++arrived[size_t(header->kind)];
                  if (header->kind == comm::FrameKind::Step)
                    countRows(message.bytes);
                },
                [](Status) {}});
  }

  void waitFor(comm::FrameKind kind, int count = 1) const {
    while (arrived[size_t(kind)] < count)
      std::this_thread::sleep_for(1ms);
  }
  void waitForRows(int64_t count) const {
    while (rows < count)
      std::this_thread::sleep_for(1ms);
  }

  /// Sends what `encode` writes.
  template <typename Encode>
  void send(int64_t to, comm::Lane lane, Encode encode) {
    comm::Bytes bytes;
    encode(codec, bytes);
    Status sent = comm.send(to, lane, std::move(bytes));
    EXPECT_TRUE(sent.ok()) << sent.message();
  }

  void sendResult(NodeId node, int32_t token) {
    sendResult(node, token, results++);
  }
  void sendResult(NodeId node, int32_t token, uint64_t step) {
    ResultFrame frame;
    frame.step = step;
    frame.results.push_back({node, 0, token, {}});
    send(0, comm::Lane::Data, [&](const auto &codec, comm::Bytes &bytes) {
      codec.encodeResults(frame, bytes);
    });
  }

  comm::Communicator &comm;

private:
  static comm::FrameLimits limits() {
    comm::FrameLimits limits;
    limits.contextLength = context;
    limits.vocabSize = vocab;
    return limits;
  }

  void countRows(std::span<const uint8_t> bytes) {
    StepFrame frame;
    comm::ActivationRows activations;
    Status read = codec.decodeStep(bytes, frame, activations);
    ASSERT_TRUE(read.ok()) << read.message();
    rows += int64_t(frame.rows.size());
  }

  comm::FrameCodec codec;
  std::atomic<int> arrived[8] = {};
  std::atomic<int64_t> rows{0};
  uint64_t results = 0;
};

/// Guesses the same two tokens after every row.
class TwoCandidates final : public Guesser {
public:
  Status guess(Stage &, int64_t, std::span<const float>,
               std::vector<Candidate> &candidates) override {
    candidates = {{20, 0.9f}, {30, 0.9f}};
    return {};
  }
};

/// Reports overtake results, which still count.
TEST(RankRuntimeTest, TheLastResultsAreCounted) {
  std::vector<std::unique_ptr<comm::Communicator>> job = comm::makeInprocJob(2);
  HandRank stage(*job[1]);
  RankSetup setup;
  setup.shape = shapeOf(1);
  setup.shape.hasDraft = true;
  setup.settings.prefillRows = 8;
  setup.isHead = true;
  std::array<Time, StepTimes::rowCounts.size()> steps;
  steps.fill(10us);
  setup.times = {StepTimes(steps), 10ms, Time(0), StepTimes(steps)};
  setup.draftSetup.compute = std::make_unique<NoCompute>();
  setup.guesser = std::make_unique<TwoCandidates>();
  Expected<std::unique_ptr<RankRuntime>> made =
      RankRuntime::create(std::move(setup), *job[0]);
  ASSERT_TRUE(made) << made.status().message();
  RankRuntime &head = **made;
  head.start();
  auto queue = std::make_shared<TokenQueue>();
  ScheduledRequest request;
  request.spec.prompt = {5};
  head.head().submit(request, queue);
  stage.waitForRows(2); // the prompt's row, node 0, and a guess
  stage.sendResult(0, 99);
  EXPECT_EQ(std::get<TokenEvent>(*queue->next(now() + 60s)).token, 99);
  head.head().finish(*queue, FinishReason::Stop);
  EXPECT_TRUE(std::get<RequestEnd>(*queue->next(now() + 60s)).hasFinished());
  Status ended;
  std::thread other([&] {
    stage.waitFor(comm::FrameKind::Shutdown);
    RankReport report;
    report.rank = 1;
    stage.send(0, comm::Lane::Control,
               [&](const auto &codec, comm::Bytes &bytes) {
                 codec.encodeReport(report.serialize(), bytes);
               });
    std::this_thread::sleep_for(200ms);
    stage.sendResult(1, 42);
    ended = stage.comm.finish(60s);
  });
  Expected<std::vector<RankReport>> reports = head.shutDown();
  other.join();
  EXPECT_TRUE(reports) << reports.status().message();
  EXPECT_TRUE(ended.ok()) << ended.message();
  EXPECT_EQ(head.speculation().computedDead, 1);
  made->reset();
  job.clear();
}

/// A head without guesses, and a request whose row is at the stage.
struct HeadAndHand {
  HeadAndHand() : job(comm::makeInprocJob(2)), stage(*job[1]) {
    RankSetup setup;
    setup.shape = shapeOf(1);
    setup.settings.speculation.mode = SpeculationMode::Off;
    setup.settings.prefillRows = 8;
    setup.isHead = true;
    std::array<Time, StepTimes::rowCounts.size()> steps;
    steps.fill(10us);
    setup.times = {StepTimes(steps), 10ms, Time(0), StepTimes(steps)};
    Expected<std::unique_ptr<RankRuntime>> made =
        RankRuntime::create(std::move(setup), *job[0]);
    EXPECT_TRUE(made) << made.status().message();
    head = made.take();
    head->start();
    ScheduledRequest request;
    request.spec.prompt = {5};
    head->head().submit(request, queue);
    stage.waitForRows(1);
  }
  ~HeadAndHand() {
    head->abort(Status::error("the test is over"));
    head.reset();
    job.clear();
  }

  /// Expects that the request's next event is an end by the pipeline's failure,
  /// with this message.
  void expectBrokenEnd(const std::string &message) {
    std::optional<RequestEvent> event = queue->next(now() + 60s);
    ASSERT_TRUE(event);
    const auto *end = std::get_if<RequestEnd>(&*event);
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->isBroken);
    EXPECT_EQ(end->failure.message(), message);
  }

  std::vector<std::unique_ptr<comm::Communicator>> job;
  HandRank stage;
  std::unique_ptr<RankRuntime> head;
  std::shared_ptr<TokenQueue> queue = std::make_shared<TokenQueue>();
};

/// Otherwise the request would wait for a row that does not come back.
TEST(RankRuntimeTest, ResultsThatAreLostEndTheRequest) {
  HeadAndHand pair;
  pair.stage.sendResult(0, 99, /*step=*/1);
  pair.expectBrokenEnd(
      "a message from rank 1: results: frame 1 has come where 0 is due: "
      "1 lost");
}

TEST(RankRuntimeTest, ResultsThatComeTwiceEndTheRequest) {
  HeadAndHand pair;
  pair.stage.sendResult(0, 99, /*step=*/0);
  EXPECT_EQ(std::get<TokenEvent>(*pair.queue->next(now() + 60s)).token, 99);
  pair.stage.sendResult(0, 99, /*step=*/0);
  pair.expectBrokenEnd(
      "a message from rank 1: results: frame 0 has come again: 1 is due");
}

/// The stage would notice by this frame that it missed the one before.
TEST(RankRuntimeTest, AnotherFrameFollowsWhereNoAnswerComes) {
  HeadAndHand pair;
  pair.stage.waitFor(comm::FrameKind::Step, 2);
  pair.stage.sendResult(0, 99, /*step=*/0);
  EXPECT_EQ(std::get<TokenEvent>(*pair.queue->next(now() + 60s)).token, 99);
}

/// The stage reports the loss to the head, which ends its requests.
TEST(RankRuntimeTest, AStageTellsOfAStepThatIsLost) {
  std::vector<std::unique_ptr<comm::Communicator>> job = comm::makeInprocJob(2);
  HandRank head(*job[0]);
  RankSetup setup;
  setup.shape = shapeOf(1);
  setup.settings.speculation.mode = SpeculationMode::Off;
  setup.settings.prefillRows = 8;
  setup.stage = 0;
  std::atomic<int> steps{0};
  setup.stageSetup.compute = std::make_unique<SlowCompute>(false, 0ms, steps);
  Expected<std::unique_ptr<RankRuntime>> made =
      RankRuntime::create(std::move(setup), *job[1]);
  ASSERT_TRUE(made) << made.status().message();
  (*made)->start();
  for (uint64_t step : {0, 2})
    head.send(1, comm::Lane::Data, [&](const auto &codec, comm::Bytes &bytes) {
      StepFrame frame;
      frame.step = step;
      codec.encodeStep(frame, {}, bytes);
    });
  Status served = (*made)->serve(nullptr);
  EXPECT_EQ(served.message(), "a message from rank 0: steps: frame 2 has come "
                              "where 1 is due: 1 lost");
  head.waitFor(comm::FrameKind::Error);
  made->reset();
  job.clear();
}

/// Cancels still arrive while a rank makes its report; for the thread
/// sanitizer.
TEST(RankRuntimeTest, ReportsWhileCancelsArrive) {
  std::vector<std::unique_ptr<comm::Communicator>> job = comm::makeInprocJob(2);
  HandRank head(*job[0]);
  RankSetup setup;
  setup.shape = shapeOf(1);
  setup.settings.speculation.mode = SpeculationMode::Off;
  setup.settings.prefillRows = 8;
  setup.settings.trace = true;
  setup.stage = 0;
  std::atomic<int> steps{0};
  setup.stageSetup.compute = std::make_unique<SlowCompute>(false, 0ms, steps);
  Expected<std::unique_ptr<RankRuntime>> made =
      RankRuntime::create(std::move(setup), *job[1]);
  ASSERT_TRUE(made) << made.status().message();
  (*made)->start();
  Status served;
  std::thread server([&] { served = (*made)->serve(nullptr); });
  std::atomic<int> sent{0};
  std::atomic<bool> over{false};
  std::thread cancels([&] {
    for (; !over; ++sent) {
      comm::EpochFrame frame{now(), {{.request = 0, .confirmed = sent}}};
      head.send(1, comm::Lane::Control,
                [&](const auto &codec, comm::Bytes &bytes) {
                  codec.encodeEpochs(frame, bytes);
                });
      std::this_thread::sleep_for(1us);
    }
  });
  // Many cancels, so that reporting them takes a while.
  while (sent < 3000)
    std::this_thread::sleep_for(1ms);
  head.send(1, comm::Lane::Data, [](const auto &codec, comm::Bytes &bytes) {
    codec.encodeShutdown(bytes);
  });
  head.waitFor(comm::FrameKind::Report);
  over = true;
  cancels.join();
  Status ended = head.comm.finish(60s);
  server.join();
  EXPECT_TRUE(served.ok()) << served.message();
  EXPECT_TRUE(ended.ok()) << ended.message();
  made->reset();
  job.clear();
}

} // namespace
