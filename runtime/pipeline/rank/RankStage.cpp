//===- RankStage.cpp - makes the worker of a rank's stage -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/rank/RankStage.h"

using namespace sluice;
using namespace sluice::pipeline;

/// The largest size of a frame without its activations, in bytes.
constexpr int64_t besideActivations = int64_t{1} << 20;

static bool follows(const StageGroup *group) {
  return group && !group->isFirst();
}

static std::string stageName(const RankSetup &setup, const StageGroup *group) {
  std::string name = "stage " + std::to_string(setup.stage);
  return follows(group) ? name + " member " + std::to_string(group->member())
                        : name;
}

/// Checks that a message can carry the rows of the largest step.
static Status checkMessages(const RankSetup &setup) {
  const PipelineShape &shape = setup.shape;
  int64_t rows = setup.settings.limits(shape).stage().rows;
  int64_t bytes =
      rows * shape.hiddenSize * activationBytes(setup.settings.activations);
  // Rows that stay on devices are in no message.
  if (shape.stageRanks.size() == 1 || setup.deviceRows ||
      bytes <= comm::defaultMessageBytes - besideActivations)
    return {};
  return failure("the rows of a step between stages take ", bytes,
                 " bytes, and a message at most ", comm::defaultMessageBytes,
                 ": take a shorter --prefill-chunk than ",
                 setup.settings.prefillRows);
}

/// Returns the output of a stage that another stage follows.
static std::unique_ptr<StepOutput>
makeForwardOutput(const RankSetup &setup, int64_t rows, RankSender &sender) {
  if (setup.deviceRows)
    return std::make_unique<DeviceForwardOutput>(
        [&sender](const StepFrame &frame, const device::DeviceRows &rows) {
          return sender.forward(frame, rows);
        });
  return std::make_unique<ForwardOutput>(
      setup.shape.hiddenSize, setup.settings.activations, rows,
      [&sender](const StepFrame &frame, const comm::ActivationRows &rows) {
        return sender.forward(frame, rows);
      });
}

/// Returns the output of the stage: rows for the next stage, or answers. Only
/// the first member of a group sends.
static std::unique_ptr<StepOutput> makeOutput(const RankSetup &setup,
                                              const std::string &name,
                                              int64_t rows, bool isFollower,
                                              RankSender &sender) {
  const PipelineShape &shape = setup.shape;
  if (isFollower && setup.deviceRows && !setup.isLastStage())
    return std::make_unique<DiscardedOutput>();
  if (isFollower)
    return std::make_unique<DiscardedOutput>(
        setup.isLastStage() ? 0 : shape.hiddenSize, setup.settings.activations,
        rows);
  if (setup.isLastStage())
    return std::make_unique<ResultOutput>(
        name, shape.vocabSize, rows, setup.settings.requests,
        setup.makeTokenTrie,
        [&sender](const ResultFrame &frame) { return sender.answer(frame); });
  return makeForwardOutput(setup, rows, sender);
}

Expected<std::unique_ptr<StageWorker>>
pipeline::makeStageWorker(RankSetup &setup, int64_t rank,
                          const comm::FrameCodec &codec, RankSender &sender,
                          EpochBoard &board, StageGroup *group, RoleTrace trace,
                          StageWorker::Events events) {
  SLUICE_RETURN_IF_ERROR(checkMessages(setup));
  const PipelineLimits limits = setup.settings.limits(setup.shape);
  StageWorkerConfig config;
  config.name = stageName(setup, group);
  config.group = group;
  config.readFrame = [&codec](ArrivedFrame &arrival) {
    return codec.decodeStep(arrival.bytes, arrival.frame, arrival.activations);
  };
  config.rank = rank;
  config.incomingFormat = setup.settings.activations;
  config.payloadRowBytes = setup.payloadRowBytes();
  config.limits = limits.stage();
  config.pages = limits.cachePages();
  std::unique_ptr<StepOutput> output =
      makeOutput(setup, "rank " + std::to_string(rank) + ": " + config.name,
                 config.limits.rows, follows(group), sender);
  return StageWorker::create(
      std::move(config), board, std::move(setup.stageSetup.compute),
      std::move(output), std::move(setup.stageSetup.pacer), trace,
      std::move(events));
}
