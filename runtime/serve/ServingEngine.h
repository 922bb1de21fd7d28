//===- ServingEngine.h - what computes requests ---------------------------===//
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

/// What a rank has done, for the live picture. Counters only rise.
struct RankCounters {
  std::string name;      ///< "stage 0", "draft"
  int64_t steps = 0;     ///< counter
  int64_t rows = 0;      ///< counter: that its steps began with
  int64_t departed = 0;  ///< counter: of them, dead at checkpoints
  int64_t busyNanos = 0; ///< counter: computing
};

/// How much of the weights has been found to be what it was.
struct WeightCounters {
  uint64_t bytes = 0;
  uint64_t passes = 0; ///< over all weights
};

/// How things stand.
struct EngineStatus {
  pipeline::HeadStatus head;
  /// Of the stages in order, and of the draft; of those that have worked.
  std::vector<RankCounters> ranks;
  WeightCounters weights; ///< of this process
};

/// What computes requests. All methods are thread-safe and return at once; none
/// calls a sink before it returns, whose calls may take a lock of the caller's.
class ServingEngine {
public:
  virtual ~ServingEngine() = default;

  /// The sink, which is of this request alone, is told its tokens in order and
  /// then its end, always and once; after that it is let go.
  virtual void submit(ScheduledRequest request,
                      std::shared_ptr<pipeline::TokenSink> sink) = 0;
  /// No more tokens are wanted of the request that was submitted with this
  /// sink; its end comes all the same, within a step. Nothing where it has
  /// come.
  virtual void finish(const pipeline::TokenSink &sink, FinishReason reason) = 0;

  virtual EngineStatus status() const = 0;
  /// Error: why no request can be taken now: it is not ready yet, or broken.
  virtual Status healthy() const = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SERVINGENGINE_H
