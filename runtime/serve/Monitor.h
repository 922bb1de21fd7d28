//===- Monitor.h - a thread that watches the server -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that wakes ten times a second. It counts the engine's steps, checks
// that the engine and the work pool make progress, and writes the log. Every
// five seconds it returns the memory of past bursts to the system. Twice a
// second it sends each client of GET /status/events an event with one JSON
// object:
//
//   {"time": seconds since 1970, "model": name, "interval": seconds since the
//    event before, "running", "waiting", "paused": requests,
//    "pages": {"all", "used", "kept"},
//    "tokens_per_second", "prompt_tokens_per_second", "steps_per_second",
//    "rows_per_step": {"prompt", "certain", "guesses"}: means,
//    "acceptance": of the guesses that were decided, or null,
//    "left_per_step": mean of the rows that died in a step,
//    "lanes": [{"name", "busy": share of the time, 0 to 1, "rows_per_second"}]}
//
// Rates and means are those of the interval.
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

/// The counters at the time of the latest event.
struct StatusMark {
  Time at{0};
  EngineStatus status;
  uint64_t tokens = 0; ///< ServeMetrics::generationTokens
};

/// Returns the data of an event about the time between two marks.
std::string statusJson(const std::string &model, const StatusMark &before,
                       const StatusMark &now);

/// How long something may have work without progress before it counts as stuck.
struct StallLimits {
  Time usual = std::chrono::seconds(10);
  /// The engine's limit until a step has completed.
  Time firstStep = std::chrono::seconds(60);
  /// How many times `usual` a long request may take to be read. It takes some
  /// seconds, and its thread gives way to all others.
  int64_t longBegins = 12;

  /// Returns the engine's limit: a multiple of the longest step so far through
  /// all stages, because steps of large models on slow machines take longer
  /// than `usual`. While a step of more rows than any that has ended may be
  /// under way, that is multiplied by the ratio of the rows, but to no more
  /// than `firstStep`.
  Time ofSteps(const pipeline::HeadStatus &head) const;
};

/// Thread-safe, except start() and stop(), which belong to the owner.
class Monitor {
public:
  static constexpr size_t maxWatchers = 64;
  static constexpr std::chrono::milliseconds tick{100};
  static constexpr int ticksAnEvent = 5;
  static constexpr int ticksATrim = 50;
  /// Number of frames in a row with answers whose logits are not finite, and
  /// without a good answer, that make the model count as broken. Fewer may come
  /// from one request's odd prompt.
  static constexpr int64_t maxNotFinite = 3;
  /// Time after the last such answer at which the model counts as working
  /// again. A client that asks /health before it sends requests sends none
  /// until then.
  static constexpr Time forgivenAfter = std::chrono::seconds(60);

  /// The references must outlive the monitor.
  Monitor(std::string model, const ServingEngine &engine, const WorkPool &pool,
          ServeMetrics &metrics, RequestLog &log, StallLimits limits = {});
  ~Monitor();

  /// Starts the thread. Fails if the system gives none.
  Status start();
  /// Ends the thread and all event streams. May be called again.
  void stop();

  /// Sends events to this client from now on. If there are as many watchers as
  /// there may be, the tenant that has the most loses its latest one. If that
  /// tenant does not have at least two more than this one's, the answer is 503.
  void watch(Responder responder, TenantId tenant);

  /// Fails if something has work and has made no progress for too long, or if
  /// the model's latest answers, one after another, had no finite logits.
  Status working() const;

private:
  void run();
  void look(int64_t tickNumber);
  void tell();
  StatusMark mark() const;
  std::optional<size_t> findPlace(TenantId newcomer) const;

  const std::string model;
  const ServingEngine &engine;
  const WorkPool &pool;
  ServeMetrics &metrics;
  RequestLog &log;
  const StallLimits limits;

  mutable std::mutex mutex; ///< guards what follows
  StallWatch steps, begins, proceeds, longBegins;
  Time stepLimit{0};       ///< see StallLimits
  std::string brokenModel; ///< why the answers are wrong; empty: they are not
  int64_t notFinite = 0;   ///< of HeadStatus, when it was last looked at
  Time notFiniteAt{0};     ///< when `notFinite` last rose
  std::condition_variable changed;
  struct Watcher {
    Responder responder;
    TenantId tenant = 0;
  };
  std::vector<Watcher> watchers; ///< in the order of their arrival
  bool stopping = false;
  StatusMark before; ///< belongs to the thread
  std::thread thread;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_MONITOR_H
