//===- Monitor.h - looks after the server now and then --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that wakes ten times a second, counts the steps that the engine has
// done, sees whether the engine and the work pool move, writes the log, gives
// the memory of past bursts back to the system every five seconds, and twice a
// second tells those who watch (GET /status/events) how things stand: an event
// with one JSON object,
//
//   {"time": seconds since 1970, "model": name, "interval": seconds since the
//    event before, "running", "waiting", "paused": requests,
//    "pages": {"all", "used", "kept"},
//    "tokens_per_second", "prompt_tokens_per_second", "steps_per_second",
//    "rows_per_step": {"prompt", "certain", "guesses"}: means,
//    "acceptance": of the guesses that were decided, or null,
//    "left_per_step": rows that died in a step, mean,
//    "lanes": [{"name", "busy": of the time, 0 to 1, "rows_per_second"}]}
//
// of which all that is a rate or a mean is about the interval.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_MONITOR_H
#define SLUICE_RUNTIME_SERVE_MONITOR_H

#include "runtime/serve/RequestLog.h"
#include "runtime/serve/Responder.h"
#include "runtime/serve/ServeMetrics.h"
#include "runtime/serve/ServingEngine.h"
#include "runtime/serve/StallWatch.h"
#include "runtime/serve/WorkPool.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::serve {

/// What the counters said when the last event was made.
struct StatusMark {
  Time at{0};
  EngineStatus status;
  uint64_t tokens = 0; ///< ServeMetrics::generationTokens
};

/// The data of an event, from one mark to the next.
std::string statusJson(const std::string &model, const StatusMark &before,
                       const StatusMark &now);

/// After how long those that have work and do not move are said to be stuck.
struct StallLimits {
  Time usual = std::chrono::seconds(10);
  /// Of the engine, while no step of as many rows as the largest one has come
  /// back: nobody knows how long that takes.
  Time firstStep = std::chrono::seconds(60);

  /// Of the engine: steps of large models on slow machines take longer than
  /// `usual`. Several times as long as the longest so far, through all stages.
  Time ofSteps(const pipeline::HeadStatus &head) const;
};

/// Thread-safe, but for start() and stop(), which belong to the owner.
class Monitor {
public:
  static constexpr size_t maxWatchers = 64;
  static constexpr std::chrono::milliseconds tick{100};
  static constexpr int ticksAnEvent = 5;
  static constexpr int ticksATrim = 50;
  /// Of answers without numbers: fewer may come of one request's odd prompt.
  static constexpr int64_t maxNotFinite = 3;
  /// After so long without another one it is tried again: who asks /health
  /// whether to send requests sends none meanwhile.
  static constexpr Time forgivenAfter = std::chrono::seconds(60);

  /// All of them outlive it.
  Monitor(std::string model, const ServingEngine &engine, const WorkPool &pool,
          ServeMetrics &metrics, RequestLog &log, StallLimits limits = {});
  ~Monitor();

  /// Errors: there is no thread to be had.
  Status start();
  /// Ends the streams of those who watch. May be called again.
  void stop();

  /// Sends events from now on; answers with 503 where too many watch.
  void watch(Responder responder);

  /// Error: what has work and has not moved for too long, or that the last
  /// answers of the model, one after another, were no numbers.
  Status working() const;

private:
  void run();
  void look(int64_t tickNumber);
  void tell();
  StatusMark mark() const;

  const std::string model;
  const ServingEngine &engine;
  const WorkPool &pool;
  ServeMetrics &metrics;
  RequestLog &log;
  const StallLimits limits;

  mutable std::mutex mutex; ///< guards what follows
  StallWatch steps, begins, proceeds;
  Time stepLimit{0};       ///< see StallLimits
  std::string brokenModel; ///< why its answers are wrong; empty: they are not
  int64_t notFinite = 0;   ///< of HeadStatus, at the last look
  Time notFiniteAt{0};     ///< when it rose last
  std::condition_variable changed;
  std::vector<Responder> watchers;
  bool stopping = false;
  StatusMark before; ///< of the thread
  std::thread thread;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_MONITOR_H
