//===- FakeBackend.h - a backend with a virtual clock ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_TEST_FAKEBACKEND_H
#define SLUICE_RUNTIME_BENCH_TEST_FAKEBACKEND_H

#include "runtime/bench/Backend.h"

#include <functional>
#include <map>
#include <set>

namespace sluice::bench::test {

/// When a request's output comes, after its start, and how it ends.
struct FakeScript {
  std::vector<std::pair<Time, int64_t>> pieces; ///< when, and how many tokens
  Time end{0};                                  ///< below 0: never
  Ending ending;
};

/// Answers by script, in virtual time: wait() moves the clock to the next
/// event, and start() by the cost that the test sets.
class FakeBackend : public Backend {
public:
  explicit FakeBackend(std::function<FakeScript(const BenchRequest &)> script)
      : script(std::move(script)) {}

  Time now() override { return clock; }

  void prepare(const BenchRequest &spec) override {
    prepared.insert(spec.index);
    maxAhead = std::max(maxAhead, prepared.size() - started.size());
  }

  void start(const BenchRequest &spec, Observer &observer) override {
    started.push_back(spec.index);
    prepared.insert(spec.index);
    FakeScript answer = script(spec);
    for (const auto &[after, tokens] : answer.pieces)
      add(spec.index, clock + after,
          [&observer, index = spec.index, tokens = tokens](Time at) {
            observer.onTokens(index, at, tokens);
          });
    if (answer.end >= Time(0))
      add(spec.index, clock + answer.end,
          [&observer, index = spec.index, ending = answer.ending](Time at) {
            Ending reported = ending;
            reported.at = at;
            observer.onEnd(index, reported);
          });
    clock += startCost;
  }

  void abort(size_t index) override {
    aborted.emplace_back(index, clock);
    std::erase_if(events, [index](const auto &event) {
      return event.second.index == index;
    });
  }

  void wait(Time until) override {
    ++waits;
    if (events.empty() || events.begin()->first > until) {
      clock = std::max(clock, until);
      return;
    }
    auto event = events.extract(events.begin());
    // An event that was due while a start took its time is reported late, with
    // the time at which it came.
    clock = std::max(clock, event.key());
    event.mapped().tell(event.key());
  }

  Time clock{1'000'000'000'000}; ///< any time
  Time startCost{0};
  std::vector<size_t> started;
  std::vector<std::pair<size_t, Time>> aborted;
  std::set<size_t> prepared;
  size_t maxAhead = 0;
  int waits = 0;

private:
  struct Event {
    size_t index;
    std::function<void(Time)> tell;
  };

  void add(size_t index, Time at, std::function<void(Time)> tell) {
    events.emplace(at, Event{index, std::move(tell)});
  }

  std::function<FakeScript(const BenchRequest &)> script;
  std::multimap<Time, Event> events;
};

/// Returns a script with the first output after `first`, and then one token
/// each `gap`; there are `spec.outputTokens` tokens, and the server reports
/// this number.
inline FakeScript steady(const BenchRequest &spec, Time first, Time gap) {
  FakeScript script;
  for (int64_t i = 0; i < spec.outputTokens; ++i)
    script.pieces.emplace_back(first + i * gap, 0);
  script.end = script.pieces.back().first;
  script.ending.promptTokens = spec.promptTokens;
  script.ending.outputTokens = spec.outputTokens;
  return script;
}

} // namespace sluice::bench::test

#endif // SLUICE_RUNTIME_BENCH_TEST_FAKEBACKEND_H
