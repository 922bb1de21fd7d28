//===- HeadEngine.h - a pipeline's head as the engine ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_HEADENGINE_H
#define SLUICE_RUNTIME_SERVE_HEADENGINE_H

#include "runtime/pipeline/HeadLoop.h"
#include "runtime/serve/Engine.h"

#include <mutex>

namespace sluice::serve {

/// The running pipeline behind a HeadLoop, which outlives it. Healthy from
/// ready() on until fail().
class HeadEngine final : public Engine {
public:
  explicit HeadEngine(pipeline::HeadLoop &head);

  /// All ranks are there.
  void ready();
  /// The pipeline is broken; the first reason counts. The head tells the
  /// requests that are under way by itself.
  void fail(Status why);

  void submit(ScheduledRequest request,
              std::shared_ptr<pipeline::TokenSink> sink) override;
  void finish(const pipeline::TokenSink &sink, FinishReason reason) override;
  EngineStatus status() const override;
  Status healthy() const override;

private:
  pipeline::HeadLoop &head;
  mutable std::mutex mutex;
  Status health;
  bool hasFailed = false;
  /// Summed up from the newest steps that the head tells of: right where
  /// status() is asked for more often than these are replaced.
  mutable Lane lastStage;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_HEADENGINE_H
