//===- Backend.h - what a load generator sends requests to ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A server over HTTP (HttpBackend), an engine in the same process, or a model
// of one with a clock of its own, for tests. Only wait() calls the observer, on
// the thread that called it; so what runs requests needs no locks. A backend
// whose events come from other threads stamps them there and hands them on in
// wait().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BACKEND_H
#define SLUICE_RUNTIME_BENCH_BACKEND_H

#include "runtime/bench/Workload.h"

#include <string>

namespace sluice::bench {

/// How a request ended.
struct Ending {
  Time at{0}; ///< on the backend's clock
  /// "" for success; else one word that errors are counted by: `connect`,
  /// `timeout`, `closed`, `malformed`, `http_429`, `server` ...
  std::string errorKind;
  std::string error; ///< one line
  /// As the server counted them; below 0 where it does not say.
  int64_t promptTokens = -1;
  int64_t outputTokens = -1;
};

/// Hears of requests, by their index.
class Observer {
public:
  virtual ~Observer() = default;
  /// Output has come: `tokens` of them, 0 where that is not known.
  virtual void onTokens(size_t index, Time at, int64_t tokens) = 0;
  /// Once for each request that is not aborted, and the last of it.
  virtual void onEnd(size_t index, const Ending &ending) = 0;
};

/// Not thread-safe.
class Backend {
public:
  virtual ~Backend() = default;

  /// What its events are stamped with; never goes back.
  virtual Time now() = 0;

  /// Does beforehand what start() need not do when it is time.
  virtual void prepare(const BenchRequest &spec) {}

  /// Begins a request; events of it come from wait() alone, errors among them.
  /// An index is used again only after its end.
  virtual void start(const BenchRequest &spec, Observer &observer) = 0;

  /// Ends a request of which nothing more will be heard. Nothing happens where
  /// it has ended. May be called by the observer.
  virtual void abort(size_t index) = 0;

  /// Returns when it has told the observer something, or at `until`; or
  /// earlier.
  virtual void wait(Time until) = 0;
};

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BACKEND_H
