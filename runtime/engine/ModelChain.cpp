//===- ModelChain.cpp - the stages of a model as one program --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/ModelChain.h"

using namespace sluice;
using namespace sluice::engine;

namespace {

Status checkChain(const std::vector<LocalStage> &stages) {
  if (stages.empty())
    return failure("model: no program");
  for (size_t i = 0; i < stages.size(); ++i) {
    const LocalStage &stage = stages[i];
    if (stage.hasEmbedding != (i == 0))
      return failure("model: stage ", i,
                     i == 0 ? " has no embedding" : " has an embedding");
    bool last = i + 1 == stages.size();
    if (stage.hasOutput != last)
      return failure("model: stage ", i,
                     last ? " has no output" : " has an output");
    if (stage.contextLength != stages[0].contextLength)
      return failure("model: stage ", i, " has a context of ",
                     stage.contextLength, ", not ", stages[0].contextLength);
    if (i > 0 && stage.hiddenSize != stages[i - 1].hiddenSize)
      return failure("model: stage ", i, " takes rows of ", stage.hiddenSize,
                     " numbers and is given ", stages[i - 1].hiddenSize);
  }
  return {};
}

class ModelChain final : public device::StepExecutor {
public:
  ModelChain(std::vector<std::unique_ptr<device::StepExecutor>> executors,
             int64_t rows, ActivationFormat format)
      : stages(std::move(executors)), format(format) {
    const size_t bytes = size_t(rows * rowBytes());
    for (size_t i = 0; i + 1 < std::min<size_t>(stages.size(), 3); ++i)
      activations[i].resize(bytes);
    incoming.reserve(size_t(rows));
  }

  bool hasEmbedding() const override { return true; }
  bool hasOutput() const override { return true; }
  int64_t vocabSize() const override { return stages.back()->vocabSize(); }
  int64_t hiddenSize() const override { return stages.back()->hiddenSize(); }
  int64_t outputLimit() const override { return stages.back()->outputLimit(); }
  Status execute(const device::StepInput &input) override;
  std::span<const float> logits(int64_t output) const override {
    return stages.back()->logits(output);
  }
  std::optional<int32_t> token(int64_t output) const override {
    return stages.back()->token(output);
  }
  std::span<const TokenLogit> candidates(int64_t output) const override {
    return stages.back()->candidates(output);
  }

private:
  int64_t rowBytes() const { return hiddenSize() * activationBytes(format); }

  std::vector<std::unique_ptr<device::StepExecutor>> stages;
  ActivationFormat format;
  /// Rows between two stages: stage i writes to activations[i % 2].
  std::vector<uint8_t> activations[2];
  std::vector<const uint8_t *> incoming;
};

Status ModelChain::execute(const device::StepInput &input) {
  device::StepInput own = input;
  own.incomingFormat = own.outgoingFormat = format;
  own.checkpoints = nullptr;
  incoming.clear();
  for (size_t i = 0; i < stages.size(); ++i) {
    std::vector<uint8_t> &sent = activations[i % 2];
    own.incoming = incoming;
    own.outgoing =
        i + 1 < stages.size() ? std::span(sent) : std::span<uint8_t>();
    SLUICE_RETURN_IF_ERROR(stages[i]->execute(own));
    if (i + 1 == stages.size())
      break;
    incoming.clear();
    for (int64_t row = 0; row < input.batch->rows(); ++row)
      incoming.push_back(sent.data() + row * rowBytes());
  }
  return {};
}

} // namespace

Expected<std::unique_ptr<device::StepExecutor>>
engine::makeModelChain(const std::vector<LocalStage> &stages,
                       const device::StepLimits &limits,
                       ActivationFormat activations) {
  SLUICE_RETURN_IF_ERROR(checkChain(stages));
  for (const LocalStage &stage : stages)
    if (stage.plan)
      SLUICE_RETURN_IF_ERROR(stage.plan(limits));
  std::vector<std::unique_ptr<device::StepExecutor>> executors;
  for (const LocalStage &stage : stages) {
    Expected<std::unique_ptr<device::StepExecutor>> made = stage.make(limits);
    if (!made)
      return made.status();
    executors.push_back(made.take());
  }
  if (executors.size() == 1)
    return std::move(executors.front());
  return std::unique_ptr<device::StepExecutor>(
      new ModelChain(std::move(executors), limits.rows, activations));
}
