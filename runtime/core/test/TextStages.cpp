//===- TextStages.cpp - stages for tests without guesses ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/TextStages.h"

#include "runtime/core/CachePages.h"

#include <algorithm>

namespace sluice::test {

constexpr int64_t pageTokens = CachePages::pageTokens;

PipelineTimes LineTimes::predicted() const {
  std::array<Time, StepTimes::rowCounts.size()> steps;
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i] = step(StepTimes::rowCounts[i]);
  PipelineTimes all;
  all.slowest = StepTimes(steps);
  return all;
}

TextStages::TextStages(const HeadLimits &limits, LineTimes times)
    : limits(limits), times(times), stages(static_cast<size_t>(limits.stages)),
      slots(static_cast<size_t>(limits.requests)) {}

int32_t TextStages::next(std::span<const int32_t> text) {
  uint64_t hash = 1469598103934665603u;
  for (int32_t token : text)
    hash = (hash ^ static_cast<uint32_t>(token)) * 1099511628211u;
  return static_cast<int32_t>((hash >> 20) % 1000);
}

Text TextStages::output(Text text, int64_t count) {
  size_t prompt = text.size();
  for (; count > 0; --count)
    text.push_back(next(text));
  return Text(text.begin() + static_cast<ptrdiff_t>(prompt), text.end());
}

void TextStages::check(bool holds, const char *what) {
  if (!holds && failures.size() < 10)
    failures.push_back(what);
}

int64_t TextStages::openRequests() const {
  return std::count_if(slots.begin(), slots.end(),
                       [](const Slot &each) { return each.isOpen; });
}

//===----------------------------------------------------------------------===//
// The orders of frames
//===----------------------------------------------------------------------===//

void TextStages::open(const OpenRequest &request) {
  Slot &slot = slots.at(static_cast<size_t>(request.request));
  check(!slot.isOpen, "a slot is opened twice");
  slot = {};
  slot.isOpen = true;
  slot.firstNode = request.firstNode;
  slot.known = request.knownTokens;
  slot.text = request.prefix;
  slot.scored = request.scored;
  check(std::ssize(request.prefix) ==
            std::ssize(request.prefixPages) * pageTokens,
        "a prefix is not whole pages");
  check(std::ssize(request.prefix) < request.knownTokens,
        "a prefix leaves nothing to compute");
  for (size_t i = 0; i < request.prefixPages.size(); ++i) {
    auto at = pinned.find(request.prefixPages[i]);
    if (at == pinned.end())
      return check(false, "a request begins with a page that is not pinned");
    Text prefix(request.prefix.begin(),
                request.prefix.begin() +
                    static_cast<ptrdiff_t>((i + 1) * pageTokens));
    check(at->second.text == prefix, "a pinned page holds something else");
    slot.pages.push_back(at->second.page);
  }
}

void TextStages::accept(const Row &row, Work &work) {
  Slot &slot = slots.at(static_cast<size_t>(row.request));
  check(slot.isOpen, "a row of a request that is not open");
  check(row.position == std::ssize(slot.text), "rows are not in order");
  check(row.node == slot.firstNode + row.position, "a node is not in order");
  check(row.position < limits.contextLength, "a row beyond the context");
  if (row.position >= slot.known)
    check(row.token == next(slot.text), "a row's token is wrong");
  slot.text.push_back(row.token);
  if (std::ssize(slot.pages) * pageTokens < std::ssize(slot.text))
    slot.pages.push_back(nextPage++);
  ++work.rows;
  work.positions += row.position;
  work.nodes.emplace_back(row.request, row.node);
  work.known += row.position < slot.known;
  if (!row.wantsOutput)
    return;
  ResultRow &result = work.answer.results.emplace_back();
  result.node = row.node;
  result.request = row.request;
  if (size_t behind = slot.text.size(); behind < slot.scored.size()) {
    result.token = slot.scored[behind];
    result.report = {{result.token, scoreAt(static_cast<int64_t>(behind))}};
  } else {
    result.token = next(slot.text);
  }
}

void TextStages::pin(const PinPage &order) {
  const Slot &slot = slots.at(static_cast<size_t>(order.request));
  check(slot.isOpen, "a page of a request that is not open is pinned");
  check(!pinned.contains(order.page), "a page is pinned twice");
  int64_t tokens = (order.index + 1) * pageTokens;
  check(order.node <= slot.computed &&
            tokens <= order.node - slot.firstNode + 1,
        "a page is pinned before it was computed");
  if (std::ssize(slot.text) < tokens)
    return check(false, "a page is pinned that is not full");
  pinned[order.page] = {Text(slot.text.begin(), slot.text.begin() + tokens),
                        slot.pages[static_cast<size_t>(order.index)]};
}

/// Carries out a frame in the order in which stages do.
void TextStages::accept(const StepFrame &frame, Work &work) {
  for (SharedPage page : frame.unpins)
    check(pinned.erase(page) == 1, "a page is unpinned that is not pinned");
  for (const OpenRequest &request : frame.opens)
    open(request);
  for (const Row &row : frame.rows)
    accept(row, work);
  countPages();
  for (const PinPage &order : frame.pins)
    pin(order);
  for (RequestId request : frame.closes) {
    Slot &slot = slots.at(static_cast<size_t>(request));
    check(slot.isOpen, "a slot is closed that is not open");
    slot.isOpen = false;
    slot.pages.clear();
  }
  work.answer.launched = frame.launched;
}

void TextStages::countPages() {
  std::set<int64_t> pages;
  for (const Slot &slot : slots)
    pages.insert(slot.pages.begin(), slot.pages.end());
  for (const auto &[name, each] : pinned)
    pages.insert(each.page);
  pagesPeak = std::max(pagesPeak, std::ssize(pages));
  check(limits.pages == 0 || std::ssize(pages) <= limits.pages,
        "a stage has run out of pages");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void TextStages::take(HeadCommands &commands, Time now) {
  for (StepFrame &frame : commands.launches) {
    Arrived &came = log.emplace_back();
    came.at = now;
    Work &work = stages.front().mailbox.emplace_back();
    accept(frame, work);
    came.known = work.known;
    came.generated = work.rows - work.known;
    came.positions = work.positions;
    came.frame = std::move(frame);
    if (work.known > 0)
      chunks.insert(came.frame.launched);
  }
  // The last chunk may be cut in two if requests begin with pages that it pins.
  check(std::ssize(chunks) <= 2 * limits.stages + 1,
        "more chunks of prompts are under way than stages need");
  begin(stages.front(), now);
}

/// Takes the frames in the mailbox as one step; chunks of prompts only as far
/// as a step may be long.
void TextStages::begin(Stage &stage, Time now) {
  if (stage.step || stage.mailbox.empty())
    return;
  Work &step = stage.step.emplace();
  size_t taken = 0;
  for (; taken < stage.mailbox.size(); ++taken) {
    Work &each = stage.mailbox[taken];
    if (taken > 0 && step.known + each.known > limits.prefillRows)
      break;
    step.rows += each.rows;
    step.known += each.known;
    step.positions += each.positions;
    step.answer.launched = each.answer.launched;
    step.answer.timings = std::move(each.answer.timings);
    std::ranges::move(each.answer.results,
                      std::back_inserter(step.answer.results));
    std::ranges::copy(each.nodes, std::back_inserter(step.nodes));
  }
  stage.mailbox.erase(stage.mailbox.begin(),
                      stage.mailbox.begin() + static_cast<ptrdiff_t>(taken));
  if (step.known > 0 && step.known < step.rows)
    mixedRowsPeak = std::max(mixedRowsPeak, step.rows);
  Time took = step.rows > 0 ? times.step(step.rows, step.positions) : Time(0);
  stage.end = now + took;
  step.answer.timings.push_back(
      {.rows = static_cast<int32_t>(step.rows), .busyNanos = took.count()});
}

std::optional<Time> TextStages::ends() const {
  std::optional<Time> first;
  for (const Stage &stage : stages)
    if (stage.step && (!first || stage.end < *first))
      first = stage.end;
  return first;
}

std::vector<ResultFrame> TextStages::advance(Time now) {
  std::vector<ResultFrame> answers;
  // The last stage comes first, so it takes what comes out of the stage before
  // in its next step.
  for (size_t s = stages.size(); s-- > 0;) {
    Stage &stage = stages[s];
    while (stage.step && stage.end <= now) {
      Work done = std::move(*stage.step);
      stage.step.reset();
      if (s + 1 < stages.size()) {
        stages[s + 1].mailbox.push_back(std::move(done));
        begin(stages[s + 1], now);
      } else {
        for (auto [request, node] : done.nodes) {
          Slot &slot = slots[static_cast<size_t>(request)];
          if (node >= slot.firstNode)
            slot.computed = node;
        }
        chunks.erase(chunks.begin(), chunks.upper_bound(done.answer.launched));
        answers.push_back(std::move(done.answer));
      }
      begin(stage, now);
    }
  }
  return answers;
}

} // namespace sluice::test
