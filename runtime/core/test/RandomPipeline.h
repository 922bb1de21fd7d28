//===- RandomPipeline.h - stages under a random head ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head that guesses and decides at random, before a chain of stages. Frames
// travel from stage to stage in order, with any delay; marks overtake them, get
// lost, and come twice and late. If the stages can share pages, the head pins
// some pages of answered rows, unpins some pinned pages, and opens requests
// that begin with pinned pages.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_RANDOMPIPELINE_H
#define SLUICE_RUNTIME_CORE_TEST_RANDOMPIPELINE_H

#include "runtime/core/test/SharedBook.h"
#include "runtime/core/test/StageHarness.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

namespace sluice::test {

struct PipelineSetup {
  uint32_t seed = 0;
  int64_t stages = 2;
  StageLimits limits;
  bool cancels = true;  ///< whether marks also go out of band
  bool device = false;  ///< whether devices pass the checkpoints by themselves
  int64_t actions = 60; ///< random actions before everything is finished
};

class RandomPipeline {
public:
  explicit RandomPipeline(const PipelineSetup &setup)
      : setup(setup), random(setup.seed), book(setup.limits.sharedPages) {
    const StageLimits &limits = setup.limits;
    int64_t pages =
        limits.branches * CachePages::pagesFor(limits.contextLength) +
        limits.sharedPages;
    for (int64_t i = 0; i < setup.stages; ++i) {
      stages.push_back(std::make_unique<StageHarness>(limits, pages));
      if (setup.device)
        stages.back()->device.emplace(setup.seed * 7919u + uint32_t(i));
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
        // No living row was lost under way.
        NodeId last = lastOf(requests[id]);
        EXPECT_TRUE(requests[id].answered.contains(last))
            << "request " << id << " node " << last;
        finish(id);
        close(id);
      }
    settle();
    for (auto &stage : stages)
      EXPECT_EQ(stage->stage.holdings(),
                (Stage::Holdings{.pinned = std::ssize(book.pinned())}));
    StepFrame last;
    last.unpins = book.pinned();
    launch(std::move(last));
    settle();
    for (auto &stage : stages)
      stage->expectEmpty();
  }

  StageHarness &stage(int64_t index) { return *stages[index]; }

  int64_t answers = 0, departed = 0, dropped = 0, reused = 0;
  int64_t prefixes = 0, pins = 0, keepsAfterEnd = 0, unpins = 0;

private:
  struct Node {
    NodeId parent = noNode;
    int32_t position = 0;
    bool certain = false;
  };
  struct Request {
    bool open = false;
    bool ended = false;
    NodeId first = 0;
    NodeId next = 0; ///< numbers continue from request to request
    std::vector<int32_t> prefix;
    NodeId confirmed = noNode;
    int32_t epoch = 0;
    std::vector<Row> prompt; ///< rows still to be sent
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

  /// Returns the row whose answer decides what comes next.
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

  /// Returns the tokens of the request up to and including the node's.
  std::vector<int32_t> pathTo(RequestId id, NodeId node) const {
    const Request &request = requests[id];
    std::vector<int32_t> path;
    NodeId own = request.first + std::ssize(request.prefix);
    for (; node >= own; node = request.nodes.at(node).parent)
      path.push_back(makeRow(id, node, noNode, 0, true).token);
    path.insert(path.end(), request.prefix.rbegin(), request.prefix.rend());
    std::ranges::reverse(path);
    return path;
  }

  /// Orders the stages to pin a page of a path that has been answered, perhaps
  /// long ago.
  void keepSome(RequestId id, StepFrame &frame) {
    const Request &request = requests[id];
    std::optional<SharedPage> page = book.unused();
    if (!request.open || !page || request.answered.empty())
      return;
    NodeId node = lastOf(request);
    while (request.nodes.contains(node) &&
           (!request.answered.contains(node) || chance(30)))
      node = request.nodes.at(node).parent;
    if (!request.nodes.contains(node))
      return;
    int64_t full =
        (request.nodes.at(node).position + 1) / CachePages::pageTokens;
    if (full == 0)
      return;
    auto index = static_cast<int32_t>(pick(full));
    std::vector<int32_t> path = pathTo(id, node);
    path.resize(static_cast<size_t>((index + 1) * CachePages::pageTokens));
    book.pin(*page, std::move(path));
    frame.pins.push_back({id, node, index, *page});
    ++pins;
    keepsAfterEnd += request.ended;
  }

  void dropSome(StepFrame &frame) {
    std::vector<SharedPage> pinned = book.pinned();
    if (pinned.empty())
      return;
    frame.unpins.push_back(
        pinned[static_cast<size_t>(pick(std::ssize(pinned)))]);
    book.unpin(frame.unpins.back());
    ++unpins;
  }

  /// Any frame can carry orders about shared pages.
  void share(StepFrame &frame) {
    if (setup.limits.sharedPages == 0)
      return;
    // The pages that the frame's requests begin with are in use after the
    // unpins.
    if (frame.opens.empty() && frame.unpins.empty() && chance(15))
      dropSome(frame);
    for (int64_t tries = pick(3); tries > 0; --tries)
      keepSome(static_cast<RequestId>(pick(std::ssize(requests))), frame);
  }

  /// Sends a frame, with the marks that belong to its rows.
  void launch(StepFrame frame) {
    frame.launched = ++launched;
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
      if (!chance(10)) // otherwise it comes again later
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
    request.first = first;
    StepFrame frame;
    OpenRequest open;
    open.request = id;
    open.firstNode = first;
    int64_t length = 1 + pick(setup.limits.contextLength / 2);
    beginShared(frame, open, length);
    request.prefix = open.prefix;
    request.next = first + std::ssize(open.prefix);
    for (auto at = static_cast<int32_t>(open.prefix.size()); at < length;
         ++at) {
      Row row =
          makeRow(id, request.next++, at ? first + at - 1 : noNode, at, true);
      row.wantsOutput = at == length - 1;
      request.nodes[row.node] = {row.parent, at, true};
      request.prompt.push_back(row);
    }
    open.knownTokens = static_cast<int32_t>(length);
    // The rest was generated before and is not part of the prompt.
    open.promptTokens =
        static_cast<int32_t>(chance(80) ? length : 1 + pick(length));
    frame.opens.push_back(open);
    takePrompt(request, frame);
    launch(std::move(frame));
  }

  /// Lets the request begin with shared pages, if there are any.
  void beginShared(StepFrame &frame, OpenRequest &open, int64_t &length) {
    if (setup.limits.sharedPages == 0)
      return;
    if (chance(20))
      dropSome(frame);
    std::vector<SharedPage> pinned = book.pinned();
    if (pinned.empty() || chance(20))
      return;
    book.begin(pinned[static_cast<size_t>(pick(std::ssize(pinned)))],
               setup.limits.contextLength, open);
    if (open.prefix.empty())
      return;
    ++prefixes;
    int64_t room = setup.limits.contextLength - std::ssize(open.prefix);
    length = std::ssize(open.prefix) + 1 + pick(std::min<int64_t>(room, 40));
  }

  void takePrompt(Request &request, StepFrame &frame) {
    int64_t rows = 1 + pick(40);
    while (rows-- > 0 && !request.prompt.empty()) {
      frame.rows.push_back(request.prompt.front());
      request.prompt.erase(request.prompt.begin());
    }
  }

  /// Adds a guess below a living row. Returns false if no guess is allowed.
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
    // The tree is mostly narrow and deep.
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
    // Just before the request closes.
    if (setup.limits.sharedPages > 0 && chance(50))
      keepSome(id, frame);
    requests[id].open = false;
    launch(std::move(frame));
  }

  /// Does something that a head does on its own.
  void act() {
    RequestId id = static_cast<RequestId>(pick(std::ssize(requests)));
    Request &request = requests[id];
    if (setup.limits.sharedPages > 0 && chance(10)) {
      StepFrame frame;
      share(frame);
      if (!frame.isTombstone())
        launch(std::move(frame));
    } else if (!request.open) {
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
      // A small batch of guesses, perhaps for several requests.
      StepFrame frame;
      for (int64_t rows = 1 + pick(6); rows > 0; --rows)
        guess(chance(80) ? id
                         : static_cast<RequestId>(pick(std::ssize(requests))),
              frame);
      std::shuffle(frame.rows.begin(), frame.rows.end(), random);
      share(frame);
      if (!frame.isTombstone())
        launch(std::move(frame));
    }
  }

  /// Handles the answers of the last stage.
  void answer(const StepFrame &frame) {
    EXPECT_GE(frame.launched, comeBack);
    EXPECT_LE(frame.launched, launched);
    comeBack = frame.launched;
    for (const Row &row : frame.rows) {
      Request &request = requests[row.request];
      if (!row.wantsOutput || !request.nodes.contains(row.node))
        continue; // an answer for the slot's last request
      ++answers;
      EXPECT_TRUE(request.answered.insert(row.node).second);
    }
    for (RequestId id = 0; id < std::ssize(requests); ++id)
      verify(id);
  }

  /// Decides what follows the confirmed row, once it is answered.
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

  /// Delivers a frame to the stage, or lets the stage do a step.
  void moveOn(int64_t index) {
    StageHarness &stage = *stages[index];
    deliverMarks(index);
    if (!links[index].empty() && stage.stage.queued() < setup.limits.frames &&
        chance(60)) {
      // All harnesses know every row that was sent.
      stage.enqueue(std::move(links[index].front()));
      links[index].pop_front();
      return;
    }
    Stage::Counters before = stage.stage.counters();
    StepFrame outgoing;
    if (!stage.step(outgoing))
      return;
    departed +=
        static_cast<int64_t>(stage.stage.counters().departedAtCheckpoint -
                             before.departedAtCheckpoint);
    dropped += static_cast<int64_t>(stage.stage.counters().droppedAtMailbox -
                                    before.droppedAtMailbox);
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

  /// Finishes everything under way. Only the rest of prompts is still sent, and
  /// ended requests are closed.
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
      if (!isBusy()) {
        EXPECT_EQ(comeBack, launched);
        return;
      }
      moveOn(pick(setup.stages));
    }
    FAIL() << "the pipeline does not come to rest";
  }

  PipelineSetup setup;
  std::mt19937 random;
  bool ending = false;
  std::vector<std::unique_ptr<StageHarness>> stages;
  std::vector<std::deque<StepFrame>> links; ///< [the stage that they go to]
  std::vector<std::vector<EpochMark>> marksInFlight; ///< [stage]
  std::vector<Request> requests;
  std::set<std::pair<RequestId, NodeId>> verified;
  SharedBook book;
  uint64_t launched = 0, comeBack = 0;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_RANDOMPIPELINE_H
