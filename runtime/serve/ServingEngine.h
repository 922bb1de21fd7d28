//===- ServingEngine.h - the interface to what computes requests ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SERVINGENGINE_H
#define SLUICE_RUNTIME_SERVE_SERVINGENGINE_H

#include "runtime/pipeline/HeadStatus.h"
#include "runtime/pipeline/TokenSink.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::serve {

/// What a rank has done, for the live picture. All numbers are counters that
/// only rise.
struct RankCounters {
  std::string name; ///< "stage 0", "draft"
  int64_t steps = 0;
  int64_t rows = 0;      ///< rows at the start of its steps
  int64_t departed = 0;  ///< of `rows`, those that died at checkpoints
  int64_t busyNanos = 0; ///< time spent computing
};

/// How much of the weights has been checked for damage.
struct WeightCounters {
  uint64_t bytes = 0;
  uint64_t passes = 0; ///< complete passes over all weights
};

/// A snapshot of the engine.
struct EngineStatus {
  pipeline::HeadStatus head;
  /// The stages in order, then the draft; only those that have worked.
  std::vector<RankCounters> ranks;
  WeightCounters weights; ///< of this process
};

/// Computes requests. All methods are thread-safe and return at once. None of
/// them calls a sink before it returns, because the caller may hold a lock that
/// the sink takes.
class ServingEngine {
public:
  virtual ~ServingEngine() = default;

  /// Starts a request of an engine that has been healthy(). `sink` belongs to
  /// this request alone and is not called before this returns: the engine gives
  /// it the tokens in order, then the end exactly once, and then releases it.
  virtual void submit(ScheduledRequest request,
                      std::shared_ptr<pipeline::TokenSink> sink) = 0;
  /// Ends the request that was submitted with `sink`. The sink still gets the
  /// end, within a step. Does nothing if the request has ended.
  virtual void finish(const pipeline::TokenSink &sink, FinishReason reason) = 0;

  virtual EngineStatus status() const = 0;
  /// Fails if no request can be taken now, because the engine is not ready yet
  /// or broken.
  virtual Status healthy() const = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SERVINGENGINE_H
