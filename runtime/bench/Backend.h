//===- Backend.h - the interface that runs a benchmark's requests ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the requests of a benchmark: on a server over HTTP (HttpBackend), on an
// engine in this process, or on a model of an engine with its own clock, for
// tests. Only wait() calls the observer, on the thread that called it, so the
// runner needs no locks. A backend whose events come from other threads takes
// their times there and reports them in wait().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BACKEND_H
#define SLUICE_RUNTIME_BENCH_BACKEND_H

#include "runtime/bench/Workload.h"

#include <string>

namespace sluice::bench {

/// How a request ended.
struct Ending {
  Time at{0}; ///< by the backend's clock
  /// "" for success; else a word by which errors are counted: `connect`,
  /// `timeout`, `closed`, `malformed`, `http_429`, `server` ...
  std::string errorKind;
  std::string error; ///< one line
  /// The server's counts; below 0 if it gives none.
  int64_t promptTokens = -1;
  int64_t outputTokens = -1;
};

/// Receives the events of requests, which are named by their index.
class Observer {
public:
  virtual ~Observer() = default;
  /// Reports output: `tokens` tokens, 0 if the number is unknown.
  virtual void onTokens(size_t index, Time at, int64_t tokens) = 0;
  /// Reports the end of a request, once, unless it is aborted.
  virtual void onEnd(size_t index, const Ending &ending) = 0;
};

/// Not thread-safe.
class Backend {
public:
  virtual ~Backend() = default;

  /// Returns the time of the clock that events use; it never decreases.
  virtual Time now() = 0;

  /// Does in advance the work of start() that can be done before it is due.
  virtual void prepare(const BenchRequest &spec) {}

  /// Starts a request. Its events, errors included, are reported by wait()
  /// only. An index is used again only after its end.
  virtual void start(const BenchRequest &spec, Observer &observer) = 0;

  /// Ends a request without further events. Does nothing if it has ended. The
  /// observer may call it.
  virtual void abort(size_t index) = 0;

  /// Returns after it has reported an event, or at `until`, or earlier.
  virtual void wait(Time until) = 0;
};

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BACKEND_H
