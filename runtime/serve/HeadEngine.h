//===- HeadEngine.h - the serving engine on top of a pipeline's head ------===//
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

/// Serves requests by a pipeline's HeadLoop. A pipeline takes long to start, so
/// the server can listen before it is there. Healthy from ready() until fail().
/// submit() must not be called before it is healthy.
class HeadEngine final : public ServingEngine {
public:
  /// `why` is the status that healthy() returns until ready().
  explicit HeadEngine(Status why);

  /// Connects the engine to the head once all ranks are there. Must be called
  /// once; `head` outlives the engine. Any thread may call `weights`, as long
  /// as the engine lives.
  void ready(pipeline::HeadLoop &head, std::function<WeightCounters()> weights);
  /// Reports that the pipeline is broken; the first reason counts. The head
  /// itself ends the running requests.
  void fail(Status why);

  void submit(ScheduledRequest request,
              std::shared_ptr<pipeline::TokenSink> sink) override;
  void finish(const pipeline::TokenSink &sink, FinishReason reason) override;
  EngineStatus status() const override;
  Status healthy() const override;

private:
  std::function<WeightCounters()> weights;         ///< set before `head`
  std::atomic<pipeline::HeadLoop *> head{nullptr}; ///< null before ready()
  mutable std::mutex mutex;
  Status health;
  bool hasFailed = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_HEADENGINE_H
