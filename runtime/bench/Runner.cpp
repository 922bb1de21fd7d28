//===- Runner.cpp - running and measuring a workload ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Runner.h"

#include <algorithm>
#include <deque>

using namespace sluice;
using namespace sluice::bench;

namespace {

/// How many requests are prepared before they are due.
constexpr size_t prepareAhead = 256;
constexpr Time tick = std::chrono::milliseconds(50);
constexpr Time progressInterval = std::chrono::milliseconds(500);

class Runner : public Observer {
public:
  Runner(const Workload &workload, Backend &backend,
         const RunnerOptions &options)
      : workload(workload), backend(backend), options(options),
        inFlight(workload.size()) {}

  RunRecord run();

private:
  void onTokens(size_t index, Time at, int64_t tokens) override;
  void onEnd(size_t index, const Ending &ending) override;

  bool hasPlace() const {
    return options.maxInFlight == 0 ||
           flying < static_cast<size_t>(options.maxInFlight);
  }
  bool isDue(Time now) const {
    return started < workload.size() && hasPlace() &&
           begin + workload[started].arrival <= now;
  }
  void startNext();
  void expire(Time now);
  void stop(Time now);
  void report(Time now);
  Time nextEvent(Time now) const;
  void settle(size_t index, const Ending &ending);

  const Workload &workload;
  Backend &backend;
  const RunnerOptions &options;

  RunRecord result;
  std::vector<bool> inFlight; ///< by index
  size_t prepared = 0, started = 0, flying = 0, ended = 0, failed = 0;
  int64_t pieces = 0;
  Time begin{0};
  Time lastEnd{0};
  /// When a place became free after none was.
  Time placeFreed{Time::min()};
  Time nextReport{0};
  /// In the order of their starts, so that the first one expires first.
  std::deque<size_t> byDeadline;
};

void Runner::onTokens(size_t index, Time at, int64_t tokens) {
  if (!inFlight[index])
    return;
  RequestRecord &record = result.requests[index];
  at -= begin;
  ++pieces;
  if (record.outputTokens == 0)
    record.firstToken = at;
  else
    record.gaps.push_back(at - record.lastToken);
  record.lastToken = at;
  record.outputTokens += std::max<int64_t>(1, tokens);
}

void Runner::onEnd(size_t index, const Ending &ending) {
  if (inFlight[index])
    settle(index, ending);
}

/// Records the end of a request.
void Runner::settle(size_t index, const Ending &ending) {
  RequestRecord &record = result.requests[index];
  inFlight[index] = false;
  if (!hasPlace())
    placeFreed = ending.at;
  --flying;
  ++ended;
  lastEnd = std::max(lastEnd, ending.at);
  record.ended = ending.at - begin;
  record.errorKind = ending.errorKind;
  record.error = ending.error;
  if (record.succeeded() && record.outputTokens == 0) {
    record.errorKind = "no_tokens";
    record.error = "the answer has no token";
  }
  record.promptTokens =
      ending.promptTokens >= 0 ? ending.promptTokens : record.spec.promptTokens;
  if (ending.outputTokens >= 0) {
    record.outputTokens = ending.outputTokens;
    record.tokensFromServer = true;
  }
  failed += !record.succeeded();
}

void Runner::startNext() {
  const BenchRequest &spec = workload[started++];
  if (prepared < started)
    prepared = started; // start() prepares it
  RequestRecord &record = result.requests.emplace_back();
  record.spec = spec;
  Time now = backend.now();
  record.started = now - begin;
  if (!options.closedLoop) {
    record.startDelay = record.started - spec.arrival;
    record.heldBack = placeFreed > begin + spec.arrival;
  }
  inFlight[spec.index] = true;
  byDeadline.push_back(spec.index);
  result.peakInFlight = std::max(result.peakInFlight, ++flying);
  backend.start(spec, *this);
}

/// Aborts requests that have taken too long.
void Runner::expire(Time now) {
  while (!byDeadline.empty()) {
    size_t index = byDeadline.front();
    Time deadline = begin + result.requests[index].started + options.timeout;
    if (inFlight[index] && (options.timeout == Time(0) || deadline > now))
      return;
    byDeadline.pop_front();
    if (!inFlight[index])
      continue;
    backend.abort(index);
    settle(index, {.at = now,
                   .errorKind = "timeout",
                   .error = "it took more than " +
                            std::to_string(options.timeout /
                                           std::chrono::milliseconds(1)) +
                            " ms"});
  }
}

void Runner::stop(Time now) {
  result.stopped = true;
  for (size_t index = 0; index < inFlight.size(); ++index)
    if (inFlight[index]) {
      backend.abort(index);
      settle(index, {.at = now, .errorKind = "cancelled", .error = "stopped"});
    }
}

void Runner::report(Time now) {
  if (!options.onProgress || now < nextReport)
    return;
  options.onProgress(
      {now - begin, workload.size(), started, ended, failed, pieces});
  nextReport = now + progressInterval;
}

/// Returns the latest time of the next action.
Time Runner::nextEvent(Time now) const {
  Time next = now + tick;
  if (started < workload.size() && hasPlace())
    next = std::min(next, begin + workload[started].arrival);
  if (!byDeadline.empty() && options.timeout > Time(0))
    next = std::min(next, begin + result.requests[byDeadline.front()].started +
                              options.timeout);
  return next;
}

RunRecord Runner::run() {
  result.requests.reserve(workload.size());
  for (; prepared < std::min(workload.size(), prepareAhead); ++prepared)
    backend.prepare(workload[prepared]);
  begin = lastEnd = backend.now();
  nextReport = begin + progressInterval;
  while (ended < workload.size()) {
    Time now = backend.now();
    if (options.shouldStop && options.shouldStop()) {
      stop(now);
      break;
    }
    expire(now);
    report(now);
    if (isDue(now))
      startNext();
    else if (prepared < std::min(workload.size(), started + prepareAhead))
      backend.prepare(workload[prepared++]);
    else if (ended < workload.size())
      backend.wait(nextEvent(now));
  }
  result.notStarted = workload.size() - started;
  result.duration = lastEnd - begin;
  return std::move(result);
}

} // namespace

double RequestRecord::tpotNanos() const {
  if (outputTokens < 2)
    return 0;
  return static_cast<double>((lastToken - firstToken).count()) /
         static_cast<double>(outputTokens - 1);
}

RunRecord bench::runWorkload(const Workload &workload, Backend &backend,
                             const RunnerOptions &options) {
  return Runner(workload, backend, options).run();
}
