//===- InlinePipeline.h - head and stage in the caller's thread -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the head and one stage, which is the whole model, in the caller's
// thread: the shortest path from a prompt to its tokens, since nothing is
// encoded and no thread waits for another.
//
//   auto pipeline = InlinePipeline::create(std::move(setup)).take();
//   auto queue = std::make_shared<TokenQueue>();
//   pipeline->head().submit(request, queue);
//   while (...) {
//     std::optional<TokenItem> item = queue->poll();
//     if (!item)
//       pipeline->turn();
//   }
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H
#define SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/StageWorker.h"

namespace sluice::pipeline {

struct InlineSetup {
  /// Of one stage, without speculation.
  PipelineLimits limits;
  /// Computes the whole model, with room for limits.stage() and a cache of
  /// limits.cachePages() pages.
  std::unique_ptr<StepCompute> compute;
  /// The tenant of whose first request the logits after the prompt are kept.
  std::optional<TenantNumber> keepsLogitsOf = {};
};

/// Thread-compatible, but for head().submit() and head().finish(). Requests
/// cannot have grammars.
class InlinePipeline final : HeadLinks {
public:
  /// Fails if the limits do not fit together.
  static Expected<std::unique_ptr<InlinePipeline>> create(InlineSetup setup);

  /// Returns the head, which takes requests. Its run() is not used.
  HeadLoop &head() { return *loop; }

  /// Handles the events so far, computes one step if there is one to compute,
  /// and handles its results. A failure of the step ends all requests.
  void turn();

  /// Returns the logits that setup.keepsLogitsOf asks for; empty before they
  /// are known.
  std::span<const float> promptLogits() const { return keptLogits; }

private:
  explicit InlinePipeline(const PipelineLimits &limits)
      : board(limits.requests) {}

  std::unique_ptr<StepOutput> makeOutput(const InlineSetup &setup);

  Status launch(const StepFrame &frame) override;
  Status draft(StepFrame frame) override;
  Status cancel(const EpochMark &mark, Time decided) override;
  void reported(const UserToken &, Time) override {}
  void reported(const UserEnd &, Time) override {}
  void note(const PolicyNote &, Time) override {}

  EpochBoard board;
  std::vector<float> keptLogits;
  std::unique_ptr<HeadLoop> loop;
  std::unique_ptr<StageWorker> worker; ///< refers to all of the above
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H
