//===- StagePipelineTest.cpp - stages under a random head -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/StageHarness.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Setup {
  uint32_t seed = 0;
  int64_t stages = 2;
  StageLimits limits;
  bool cancels = true;  ///< marks also go out of band
  int64_t actions = 60; ///< before everything is left to finish
};

/// A head that guesses and decides at random, before a chain of stages. Frames
/// go from stage to stage in order, after any delay; marks overtake them, get
/// lost, come twice and late.
class RandomPipeline {
public:
  explicit RandomPipeline(const Setup &setup)
      : setup(setup), random(setup.seed) {
    const StageLimits &limits = setup.limits;
    int64_t pages =
        limits.branches * CachePages::pagesFor(limits.contextLength);
    for (int64_t i = 0; i < setup.stages; ++i) {
      stages.push_back(std::make_unique<StageHarness>(limits, pages));
      stages.back()->beforeCheckpoint = [this, i](int) {
        deliverMarks(i);
        if (!ending && chance(20))
          act();
      };
    }
    links.resize(static_cast<size_t>(setup.stages));
    marksInFlight.resize(static_cast<size_t>(setup.stages));
    requests.resize(static_cast<size_t>(limits.requests));
  }

  void run() {
    for (int64_t action = 0; action < setup.actions; ++action) {
      act();
      for (int64_t i = pick(2 * setup.stages + 1); i > 0; --i)
        moveOn(pick(setup.stages));
      if (::testing::Test::HasFatalFailure() ||
          ::testing::Test::HasNonfatalFailure())
        return;
    }
    settle();
    for (RequestId id = 0; id < std::ssize(requests); ++id)
      if (requests[id].open) {
        // Nothing that lives was lost on the way.
        NodeId last = lastOf(requests[id]);
        EXPECT_TRUE(requests[id].answered.contains(last))
            << "request " << id << " node " << last;
        finish(id);
        close(id);
      }
    settle();
    for (auto &stage : stages)
      stage->expectEmpty();
  }

  int64_t answers = 0, left = 0, dropped = 0, reused = 0;

private:
  struct Node {
    NodeId parent = noNode;
    int32_t position = 0;
    bool certain = false;
  };
  struct Request {
    bool open = false;
    bool ended = false;
    NodeId next = 0; ///< numbers go on from request to request
    NodeId confirmed = noNode;
    int32_t epoch = 0;
    std::vector<Row> prompt; ///< still to be sent
    std::map<NodeId, Node> nodes;
    std::set<NodeId> answered;
  };

  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  }
  bool chance(int percent) { return pick(100) < percent; }

  bool descends(const Request &request, NodeId node) {
    while (node > request.confirmed)
      node = request.nodes.at(node).parent;
    return node == request.confirmed;
  }

  /// The row whose answer decides what comes next.
  static NodeId lastOf(const Request &request) {
    NodeId last = request.confirmed;
    if (last == noNode)
      for (auto &[node, about] : request.nodes)
        if (about.certain)
          last = node;
    return last;
  }

  EpochMark markOf(RequestId id) const {
    const Request &request = requests[id];
    return {id, request.epoch,
            request.ended ? request.next - 1 : request.confirmed,
            request.ended};
  }

  /// Sends a frame, with the marks that belong to its rows.
  void launch(StepFrame frame) {
    std::set<RequestId> named;
    for (const Row &row : frame.rows)
      if (named.insert(row.request).second)
        frame.marks.push_back(markOf(row.request));
    links[0].push_back(std::move(frame));
  }

  void announce(RequestId id) {
    ++requests[id].epoch;
    if (setup.cancels)
      for (auto &queue : marksInFlight)
        if (!chance(10))
          queue.push_back(markOf(id));
  }

  void deliverMarks(int64_t stage) {
    std::vector<EpochMark> &queue = marksInFlight[stage];
    while (!queue.empty() && chance(70)) {
      size_t at = static_cast<size_t>(pick(std::ssize(queue)));
      stages[stage]->board.publish(queue[at]);
      if (!chance(10)) // else it comes again, later
        queue.erase(queue.begin() + static_cast<int64_t>(at));
    }
  }

  void openRequest(RequestId id) {
    Request &request = requests[id];
    reused += request.next > 0;
    NodeId first = request.next;
    request = {};
    request.open = true;
    request.next = first + 1 + pick(3);
    first = request.next;
    int64_t length = 1 + pick(setup.limits.contextLength / 2);
    for (int32_t at = 0; at < length; ++at) {
      Row row =
          makeRow(id, request.next++, at ? first + at - 1 : noNode, at, true);
      row.wantsOutput = at == length - 1;
      request.nodes[row.node] = {row.parent, at, true};
      request.prompt.push_back(row);
    }
    StepFrame frame;
    OpenRequest open;
    open.request = id;
    open.firstNode = first;
    open.promptTokens = static_cast<int32_t>(length);
    frame.opens.push_back(open);
    takePrompt(request, frame);
    launch(std::move(frame));
  }

  void takePrompt(Request &request, StepFrame &frame) {
    int64_t rows = 1 + pick(40);
    while (rows-- > 0 && !request.prompt.empty()) {
      frame.rows.push_back(request.prompt.front());
      request.prompt.erase(request.prompt.begin());
    }
  }

  /// Adds a guess below something that lives; false where none is allowed.
  bool guess(RequestId id, StepFrame &frame) {
    Request &request = requests[id];
    if (!request.open || request.ended || !request.prompt.empty())
      return false;
    std::vector<NodeId> living;
    int64_t guesses = 0;
    for (auto &[node, about] : request.nodes)
      if (request.confirmed == noNode ? node >= lastOf(request)
                                      : descends(request, node)) {
        living.push_back(node);
        guesses += !about.certain;
      }
    if (guesses >= setup.limits.nodes || living.empty())
      return false;
    // Narrow and deep, mostly.
    NodeId parent = chance(60)
                        ? living.back()
                        : living[static_cast<size_t>(pick(std::ssize(living)))];
    int32_t position = request.nodes[parent].position + 1;
    if (position >= setup.limits.contextLength)
      return false;
    Row row = makeRow(id, request.next++, parent, position, false);
    request.nodes[row.node] = {parent, position, false};
    frame.rows.push_back(row);
    return true;
  }

  void finish(RequestId id) {
    requests[id].ended = true;
    announce(id);
  }

  void close(RequestId id) {
    StepFrame frame;
    frame.closes.push_back(id);
    if (chance(50))
      frame.marks.push_back(markOf(id));
    requests[id].open = false;
    launch(std::move(frame));
  }

  /// Anything that a head does by itself.
  void act() {
    RequestId id = static_cast<RequestId>(pick(std::ssize(requests)));
    Request &request = requests[id];
    if (!request.open) {
      if (chance(50))
        openRequest(id);
    } else if (request.ended) {
      if (chance(60))
        close(id);
    } else if (chance(3)) {
      finish(id);
    } else if (!request.prompt.empty()) {
      StepFrame frame;
      takePrompt(request, frame);
      launch(std::move(frame));
    } else {
      // A micro-batch of guesses, perhaps for several requests.
      StepFrame frame;
      for (int64_t rows = 1 + pick(6); rows > 0; --rows)
        guess(chance(80) ? id
                         : static_cast<RequestId>(pick(std::ssize(requests))),
              frame);
      std::shuffle(frame.rows.begin(), frame.rows.end(), random);
      if (!frame.rows.empty())
        launch(std::move(frame));
    }
  }

  /// The last stage has answered.
  void answer(const StepFrame &frame) {
    for (const Row &row : frame.rows) {
      Request &request = requests[row.request];
      if (!row.wantsOutput || !request.nodes.contains(row.node))
        continue; // of the slot's last request
      ++answers;
      EXPECT_TRUE(request.answered.insert(row.node).second);
    }
    for (RequestId id = 0; id < std::ssize(requests); ++id)
      verify(id);
  }

  /// Decides what follows the confirmed row, once that is answered.
  void verify(RequestId id) {
    Request &request = requests[id];
    if (ending || !request.open || request.ended || !request.prompt.empty())
      return;
    bool news = false;
    while (true) {
      NodeId last = lastOf(request);
      if (!request.answered.contains(last) || verified.contains({id, last}))
        break;
      verified.insert({id, last});
      int32_t position = request.nodes[last].position + 1;
      if (position >= setup.limits.contextLength) {
        finish(id);
        return;
      }
      std::vector<NodeId> children;
      for (auto &[node, about] : request.nodes)
        if (about.parent == last)
          children.push_back(node);
      news = true;
      if (!children.empty() && chance(70)) {
        request.confirmed =
            children[static_cast<size_t>(pick(std::ssize(children)))];
        continue;
      }
      Row row = makeRow(id, request.next++, last, position, true);
      request.nodes[row.node] = {last, position, true};
      request.confirmed = row.node;
      StepFrame frame;
      frame.rows.push_back(row);
      launch(std::move(frame));
    }
    if (news)
      announce(id);
  }

  /// Delivers a frame to the stage, or has it do a step.
  void moveOn(int64_t index) {
    StageHarness &stage = *stages[index];
    deliverMarks(index);
    if (!links[index].empty() && stage.stage.queued() < setup.limits.frames &&
        chance(60)) {
      // Whatever was sent is known to all harnesses.
      stage.enqueue(std::move(links[index].front()));
      links[index].pop_front();
      return;
    }
    Stage::Counters before = stage.stage.counters();
    StepFrame outgoing;
    if (!stage.step(outgoing))
      return;
    left += static_cast<int64_t>(stage.stage.counters().leftAtCheckpoint -
                                 before.leftAtCheckpoint);
    dropped += static_cast<int64_t>(stage.stage.counters().droppedAtDoor -
                                    before.droppedAtDoor);
    if (index + 1 < setup.stages)
      links[index + 1].push_back(std::move(outgoing));
    else
      answer(outgoing);
  }

  bool isBusy() const {
    for (auto &link : links)
      if (!link.empty())
        return true;
    for (auto &stage : stages)
      if (stage->stage.queued() > 0)
        return true;
    return false;
  }

  /// Lets everything under way come to its end; nothing is begun but the rest
  /// of prompts, and what has ended is closed.
  void settle() {
    ending = true;
    for (int64_t round = 0; round < 100'000; ++round) {
      for (RequestId id = 0; id < std::ssize(requests); ++id) {
        Request &request = requests[id];
        if (!request.open)
          continue;
        if (request.ended) {
          close(id);
        } else if (!request.prompt.empty()) {
          StepFrame frame;
          takePrompt(request, frame);
          launch(std::move(frame));
        }
      }
      if (!isBusy())
        return;
      moveOn(pick(setup.stages));
    }
    FAIL() << "the pipeline does not come to rest";
  }

  Setup setup;
  std::mt19937 random;
  bool ending = false;
  std::vector<std::unique_ptr<StageHarness>> stages;
  std::vector<std::deque<StepFrame>> links;          ///< [stage it goes to]
  std::vector<std::vector<EpochMark>> marksInFlight; ///< [stage]
  std::vector<Request> requests;
  std::set<std::pair<RequestId, NodeId>> verified;
};

Setup setupOf(uint32_t seed) {
  std::mt19937 random(seed * 2654435761u + 1);
  Setup setup;
  setup.seed = seed;
  setup.stages = 1 + random() % 3;
  setup.limits.requests = 1 + random() % 4;
  setup.limits.nodes = 1 + random() % 12;
  setup.limits.branches = setup.limits.requests * (setup.limits.nodes + 1);
  setup.limits.contextLength = 2 + random() % 90;
  setup.limits.rows = 1 + random() % (seed % 2 ? 8 : 64);
  setup.limits.outputs = 1 + random() % 16;
  setup.limits.frames = 1 + random() % 8;
  setup.limits.fuse = random() % 4 != 0;
  setup.cancels = random() % 4 != 0;
  return setup;
}

/// Thousands of pipelines, each from its seed: every row that is computed finds
/// its ancestors in the cache, whatever was guessed, fused, dropped, cut and
/// closed; nothing that lives is lost; and in the end nothing is held.
TEST(StagePipelineTest, EveryRowFindsItsAncestorsWhateverHappens) {
  int64_t answers = 0, left = 0, dropped = 0, reused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomPipeline pipeline(setupOf(seed));
    pipeline.run();
    ASSERT_FALSE(HasFailure());
    answers += pipeline.answers;
    left += pipeline.left;
    dropped += pipeline.dropped;
    reused += pipeline.reused;
  }
  // That these are common is what makes the test worth something.
  EXPECT_GT(answers, 10'000);
  EXPECT_GT(left, 1'000);
  EXPECT_GT(dropped, 1'000);
  EXPECT_GT(reused, 1'000);
  RecordProperty("answers", std::to_string(answers));
  RecordProperty("left", std::to_string(left));
}

} // namespace
