//===- HeadEngine.h - a pipeline's head as the engine ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_HEADENGINE_H
#define SLUICE_RUNTIME_SERVE_HEADENGINE_H

#include "runtime/pipeline/HeadLoop.h"
#include "runtime/serve/ServingEngine.h"

#include <atomic>
#include <functional>
#include <mutex>

namespace sluice::serve {

/// The running pipeline behind a HeadLoop, which takes long to be there: a
/// server listens before. Healthy from ready() on until fail().
class HeadEngine final : public ServingEngine {
public:
  /// `why` it is not healthy before ready().
  explicit HeadEngine(Status why);

  /// All ranks are there. Once; `head` outlives the engine. `weights` may be
  /// called by any thread, as long as the engine lives.
  void ready(pipeline::HeadLoop &head, std::function<WeightCounters()> weights);
  /// The pipeline is broken; the first reason counts. The head tells the
  /// requests that are under way by itself.
  void fail(Status why);

  void submit(ScheduledRequest request,
              std::shared_ptr<pipeline::TokenSink> sink) override;
  void finish(const pipeline::TokenSink &sink, FinishReason reason) override;
  EngineStatus status() const override;
  Status healthy() const override;

private:
  std::function<WeightCounters()> weights;         ///< settled before `head` is
  std::atomic<pipeline::HeadLoop *> head{nullptr}; ///< null before ready()
  mutable std::mutex mutex;
  Status health;
  bool hasFailed = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_HEADENGINE_H
