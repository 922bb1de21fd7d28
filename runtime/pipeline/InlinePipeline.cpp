//===- InlinePipeline.cpp - head and stage in the caller's thread ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/InlinePipeline.h"

#include "runtime/pipeline/DraftWorker.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

PipelineLimits pipeline::inlineLimits(int64_t requests, int64_t contextLength,
                                      int64_t vocabSize, int64_t prefillRows) {
  PipelineLimits limits;
  limits.speculation.mode = SpeculationMode::Off;
  limits.speculation.nodes = 1; // the fewest that there can be
  limits.requests = requests;
  limits.contextLength = contextLength;
  limits.vocabSize = vocabSize;
  limits.prefillRows = std::min(prefillRows, contextLength);
  // The head keeps room for two frames of each request in a channel.
  limits.channelFrames += 2 * requests;
  return limits;
}

/// Passes everything on to another output, and keeps the logits after the
/// prompt of each tenant's first request.
class InlinePipeline::LogitsKeeper final : public StepOutput {
public:
  LogitsKeeper(std::unique_ptr<StepOutput> output, KeptLogits &kept)
      : output(std::move(output)), kept(kept) {}

  void begin(Stage &stage) override { output->begin(stage); }
  OutputRequest requestOf(const Stage &stage, int64_t row) const override {
    return isWanted(stage, row) ? OutputRequest()
                                : output->requestOf(stage, row);
  }
  Status collect(Stage &stage, const StepCompute &compute) override {
    std::span<const int32_t> rows = stage.batch().outputRows();
    for (size_t i = 0; i < rows.size(); ++i)
      if (isWanted(stage, rows[i])) {
        std::span<const float> logits = compute.logits(int64_t(i));
        kept[stage.requestOf(rows[i]).tenant].assign(logits.begin(),
                                                     logits.end());
      }
    return output->collect(stage, compute);
  }
  bool isFinite(const Stage &stage, int64_t row) const override {
    return output->isFinite(stage, row);
  }
  Status send(StepFrame &frame) override { return output->send(frame); }
  Status start(std::function<void()> wake) override {
    return output->start(std::move(wake));
  }
  Status sendLate() override { return output->sendLate(); }
  Status finish() override { return output->finish(); }

private:
  bool isWanted(const Stage &stage, int64_t row) const {
    const OpenRequest &request = stage.requestOf(row);
    return stage.rows()[size_t(row)].position + 1 == request.promptTokens &&
           !kept.contains(request.tenant);
  }

  std::unique_ptr<StepOutput> output;
  KeptLogits &kept;
};

/// Returns an output that gives the step's results to the head.
std::unique_ptr<StepOutput>
InlinePipeline::makeOutput(const InlineSetup &setup) {
  std::unique_ptr<StepOutput> output = std::make_unique<ResultOutput>(
      "model", setup.limits.vocabSize, setup.limits.stage().rows,
      setup.limits.requests, /*makeTrie=*/nullptr,
      [this](const ResultFrame &frame) {
        loop->onResults(frame);
        return Status();
      });
  if (!setup.keepsLogits)
    return output;
  return std::make_unique<LogitsKeeper>(std::move(output), keptLogits);
}

Status InlinePipeline::createHead(const InlineSetup &setup) {
  HeadLimits limits = setup.limits.head();
  limits.quiet = Time(0); // no frame can be lost
  limits.hasDraft = setup.draft.has_value();
  if (setup.draft)
    limits.draftContextLength = setup.draft->contextLength;
  Expected<Head> head = Head::create(limits, setup.limits.speculation, {});
  if (!head)
    return head.status();
  // All requests are the caller's own: none is refused because others wait, and
  // hardly any is preempted for another.
  SchedulerLimits queue;
  queue.waiting = SchedulerLimits::maxWaiting;
  queue.fairQuantum = SchedulerLimits::maxFairQuantum;
  Expected<Scheduler> scheduler = Scheduler::create(head.take(), queue);
  if (!scheduler)
    return scheduler.status();
  HeadLinks &links = *this;
  loop = std::make_unique<HeadLoop>(scheduler.take(), links);
  return {};
}

Status InlinePipeline::createStage(InlineSetup &setup) {
  StageWorkerConfig config;
  config.name = "model";
  config.limits = setup.limits.stage();
  config.pages = setup.limits.cachePages();
  config.hasCheckpoints = false; // the head runs between steps
  Expected<std::unique_ptr<StageWorker>> made =
      StageWorker::create(config, board, std::move(setup.compute),
                          makeOutput(setup), /*pacer=*/nullptr, /*trace=*/{},
                          /*events=*/{});
  if (!made)
    return made.status();
  worker = made.take();
  return {};
}

Status InlinePipeline::createDraft(InlineSetup &setup) {
  const PipelineLimits &limits = setup.limits;
  DraftParts parts;
  parts.limits = limits;
  parts.vocabSize = setup.draft->vocabSize;
  parts.compute = std::move(setup.draft->compute);
  parts.guesser = std::make_unique<ModelGuesser>(
      parts.vocabSize, limits.speculation.width, limits.requests,
      /*makeTrie=*/nullptr);
  parts.hasCheckpoints = false;
  Expected<std::unique_ptr<StageWorker>> made =
      makeDraftWorker(std::move(parts), draftBoard, *loop, /*trace=*/{},
                      /*failed=*/nullptr);
  if (!made)
    return made.status();
  draftWorker = made.take();
  return {};
}

Expected<std::unique_ptr<InlinePipeline>>
InlinePipeline::create(InlineSetup setup) {
  std::unique_ptr<InlinePipeline> made(new InlinePipeline(setup.limits));
  SLUICE_RETURN_IF_ERROR(made->createHead(setup));
  SLUICE_RETURN_IF_ERROR(made->createStage(setup));
  if (setup.draft)
    SLUICE_RETURN_IF_ERROR(made->createDraft(setup));
  return made;
}

std::span<const float> InlinePipeline::promptLogits(TenantNumber tenant) const {
  auto found = keptLogits.find(tenant);
  return found == keptLogits.end() ? std::span<const float>() : found->second;
}

void InlinePipeline::turn() {
  loop->poll();
  // The draft comes first, so that the guesses of all requests share a step.
  const bool drafts = draftWorker && draftWorker->waiting() > 0;
  if (Status ran = (drafts ? draftWorker : worker)->poll(); !ran.ok())
    loop->onFailure(std::move(ran));
  loop->poll();
}

Status InlinePipeline::launch(const StepFrame &frame) {
  worker->arrive({frame, {}, {}});
  return {};
}

Status InlinePipeline::draft(StepFrame frame) {
  draftWorker->arrive({std::move(frame), {}, {}});
  return {};
}

Status InlinePipeline::cancel(const EpochMark &mark, Time decided) {
  board.publish(mark, decided);
  draftBoard.publish(mark, decided);
  return {};
}
