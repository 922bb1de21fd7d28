//===- InlinePipeline.h - head and stage in the caller's thread -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the head, one stage, which is the whole model, and a draft, if there is
// one, in the caller's thread: the shortest path from a prompt to its tokens,
// since nothing is encoded and no thread waits for another.
//
//   auto pipeline = InlinePipeline::create(std::move(setup)).take();
//   auto queue = std::make_shared<TokenQueue>();
//   pipeline->head().submit(request, queue);
//   while (...) {
//     std::optional<RequestEvent> event = queue->poll();
//     if (!event)
//       pipeline->turn();
//   }
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H
#define SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/StageWorker.h"

#include <map>

namespace sluice::pipeline {

/// Returns the limits of a pipeline of one stage, without speculation.
PipelineLimits inlineLimits(int64_t requests, int64_t contextLength,
                            int64_t vocabSize, int64_t prefillRows);

struct InlineSetup {
  /// From inlineLimits(). Speculation needs a draft, and is synchronous or off.
  PipelineLimits limits;
  /// Computes the whole model, with room for limits.stage() and a cache of
  /// limits.cachePages() pages.
  std::unique_ptr<StepCompute> compute;
  /// Whether to keep the logits after the prompt of each tenant's first
  /// request.
  bool keepsLogits = false;

  struct Draft {
    /// Computes the draft, with room for limits.draft().
    std::unique_ptr<StepCompute> compute;
    int64_t contextLength = 0;
    int64_t vocabSize = 0; ///< the ids that target and draft have
  };
  std::optional<Draft> draft = {};
};

/// Thread-compatible, but for head().submit() and head().finish(). Requests
/// cannot have grammars.
class InlinePipeline final : HeadLinks {
public:
  /// Fails if the limits do not fit together.
  static Expected<std::unique_ptr<InlinePipeline>> create(InlineSetup setup);

  /// Returns the head, which takes requests. Its run() is not used.
  HeadLoop &head() { return *loop; }

  /// Handles the events so far, computes one step of the draft or of the stage
  /// if there is one to compute, and handles its results. A failure of the step
  /// ends all requests.
  void turn();

  /// Returns the logits after the prompt of the tenant's first request, if
  /// setup.keepsLogits asked for them; empty before they are known.
  std::span<const float> promptLogits(TenantNumber tenant) const;

  /// Returns what the stage has computed so far.
  StageReport report() const { return worker->report(); }

private:
  using KeptLogits = std::map<TenantNumber, std::vector<float>>;
  class LogitsKeeper;

  explicit InlinePipeline(const PipelineLimits &limits)
      : board(limits.requests), draftBoard(limits.requests) {}

  Status createHead(const InlineSetup &setup);
  Status createStage(InlineSetup &setup);
  Status createDraft(InlineSetup &setup);
  std::unique_ptr<StepOutput> makeOutput(const InlineSetup &setup);

  Status launch(const StepFrame &frame) override;
  Status draft(StepFrame frame) override;
  Status cancel(const EpochMark &mark, Time decided) override;
  void reported(const TokenEvent &, Time) override {}
  void reported(const RequestEnd &, Time) override {}
  void note(const PolicyNote &, Time) override {}

  EpochBoard board, draftBoard;
  KeptLogits keptLogits;
  std::unique_ptr<HeadLoop> loop;
  // These refer to all of the above.
  std::unique_ptr<StageWorker> worker;
  std::unique_ptr<StageWorker> draftWorker; ///< null without a draft
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_INLINEPIPELINE_H
