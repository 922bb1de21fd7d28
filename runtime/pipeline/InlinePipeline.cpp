//===- InlinePipeline.cpp - head and stage in the caller's thread ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/InlinePipeline.h"

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Passes everything on to another output, and keeps the logits after the
/// prompt of a tenant's first request.
class LogitsKeeper final : public StepOutput {
public:
  LogitsKeeper(std::unique_ptr<StepOutput> output, TenantNumber tenant,
               std::vector<float> &kept)
      : output(std::move(output)), tenant(tenant), kept(kept) {}

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
        kept.assign(logits.begin(), logits.end());
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
    if (!kept.empty())
      return false;
    const OpenRequest &request = stage.requestOf(row);
    return request.tenant == tenant &&
           stage.rows()[size_t(row)].position + 1 == request.promptTokens;
  }

  std::unique_ptr<StepOutput> output;
  TenantNumber tenant;
  std::vector<float> &kept;
};

} // namespace

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
  if (!setup.keepsLogitsOf)
    return output;
  return std::make_unique<LogitsKeeper>(std::move(output), *setup.keepsLogitsOf,
                                        keptLogits);
}

Expected<std::unique_ptr<InlinePipeline>>
InlinePipeline::create(InlineSetup setup) {
  const PipelineLimits &limits = setup.limits;
  std::unique_ptr<InlinePipeline> made(new InlinePipeline(limits));
  HeadLimits headLimits = limits.head();
  headLimits.quiet = Time(0); // no frame can be lost
  Expected<Head> head = Head::create(headLimits, limits.speculation, {});
  if (!head)
    return head.status();
  Expected<Scheduler> scheduler = Scheduler::create(head.take(), {});
  if (!scheduler)
    return scheduler.status();
  HeadLinks &links = *made;
  made->loop = std::make_unique<HeadLoop>(scheduler.take(), links);

  StageWorkerConfig config;
  config.name = "model";
  config.limits = limits.stage();
  config.pages = limits.cachePages();
  config.hasCheckpoints = false; // the head runs between steps
  Expected<std::unique_ptr<StageWorker>> worker =
      StageWorker::create(config, made->board, std::move(setup.compute),
                          made->makeOutput(setup), /*pacer=*/nullptr,
                          /*trace=*/{}, /*events=*/{});
  if (!worker)
    return worker.status();
  made->worker = worker.take();
  return made;
}

void InlinePipeline::turn() {
  loop->poll();
  if (Status ran = worker->poll(); !ran.ok())
    loop->onFailure(std::move(ran));
  loop->poll();
}

Status InlinePipeline::launch(const StepFrame &frame) {
  worker->arrive({frame, {}, {}});
  return {};
}

Status InlinePipeline::draft(StepFrame) {
  return failure("there is no draft in this thread");
}

Status InlinePipeline::cancel(const EpochMark &mark, Time decided) {
  board.publish(mark, decided);
  return {};
}
