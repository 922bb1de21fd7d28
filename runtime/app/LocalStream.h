//===- LocalStream.h - tokens of a model in this thread -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates the tokens of a model whose stages are all computed in this thread,
// one step after the other: the shortest path for an executable of one stage.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_LOCALSTREAM_H
#define SLUICE_RUNTIME_APP_LOCALSTREAM_H

#include "runtime/app/BatchMates.h"
#include "runtime/app/Engine.h"
#include "runtime/app/TokenStream.h"
#include "runtime/core/Sampler.h"
#include "runtime/core/Sequence.h"

namespace sluice::app {

/// Generates one sequence, alone or with batch mates.
class LocalStream final : public TokenStream {
public:
  /// `engine` and `spec`, whose prompt is not used, must outlive the stream.
  LocalStream(Engine &engine, const RequestSpec &spec);

  /// Returns what the model must have room for.
  static EngineNeeds needs(const Engine &engine);

  /// Needs a loaded engine. Fails if the model does.
  Expected<bool> start(std::span<const int32_t> prompt) override;
  Expected<std::optional<StreamedToken>> next() override;
  FinishReason finish() const override { return reason; }
  std::span<const float> promptLogits() const override { return logits; }

private:
  Expected<bool> compute();
  OutputRequest request() const;
  Status step();
  Expected<bool> advance();
  Expected<int32_t> choose();
  Expected<std::optional<TokenReport>> report(int32_t token) const;

  Engine &engine;
  const RequestSpec &spec;
  Sampler sampler;
  StepBatch batch;
  std::optional<Sequence> sequence;
  std::optional<BatchMates> batchMates;
  std::span<const int32_t> prompt;
  std::vector<int32_t> output;
  // For the last computed token: the next token, or the candidates for it, if
  // the device has found them; else its logits.
  std::optional<int32_t> known;
  std::span<const TokenLogit> candidates;
  std::span<const float> logits;
  std::vector<OutputRequest> requests; // of the step's outputs
  FinishReason reason = FinishReason::Length;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_LOCALSTREAM_H
