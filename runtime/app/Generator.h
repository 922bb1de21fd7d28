//===- Generator.h - one prompt continued ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Generator> generator = Generator::create(engine, options);
//   Expected<Generation> result = generator->run(prompt, write);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GENERATOR_H
#define SLUICE_RUNTIME_APP_GENERATOR_H

#include "runtime/app/Company.h"
#include "runtime/app/Engine.h"
#include "runtime/core/LogProbabilities.h"
#include "runtime/core/Sampler.h"
#include "runtime/core/Sequence.h"
#include "runtime/core/StopMatcher.h"
#include "runtime/text/Detokenizer.h"

#include <chrono>
#include <functional>

namespace sluice::app {

enum class FinishReason : uint8_t { Stop, Length, Cancelled };

std::string_view finishReasonName(FinishReason reason);

struct GenerationTiming {
  int64_t promptTokens = 0;
  double promptSeconds = 0; // until the prompt's last logits are there
  int64_t generatedTokens = 0;
  double generateSeconds = 0;   // from the first generated token to the last
  double firstTokenSeconds = 0; // from the program's start
};

struct TokenReport {
  TokenLogProbability chosen;
  std::vector<TokenLogProbability> top;
};

struct Generation {
  std::vector<int32_t> tokens; // without the token that ended the text
  std::string text;            // empty when the model has no tokenizer
  FinishReason finish = FinishReason::Length;
  GenerationTiming timing;
  std::vector<float> lastLogits;    // when asked for
  std::vector<TokenReport> reports; // one for each token, when asked for
};

/// Runs one sequence, alone or in company. Thread-compatible.
class Generator {
public:
  using Clock = std::chrono::steady_clock;
  /// Given each generated token and the text that it makes certain.
  using Write = std::function<Status(int32_t token, std::string_view text)>;

  /// Checks the options against the model. Errors: sampling parameters or stop
  /// strings that do not fit it.
  static Expected<Generator> create(Engine &engine,
                                    const GenerateOptions &options,
                                    Clock::time_point programStart);

  /// What the executor must have room for.
  EngineNeeds needs() const;

  /// Continues `prompt`, which readPrompt has checked; the engine is loaded.
  /// Once. Errors: of the executor, the sampler and `write`.
  Expected<Generation> run(std::span<const int32_t> prompt, const Write &write);

private:
  Generator(Engine &engine, const GenerateOptions &options, StopMatcher stop,
            Clock::time_point programStart);

  Expected<bool> compute();
  Status step();
  Expected<bool> generateOne(std::span<const int32_t> prompt,
                             const Write &write);
  Status report(int32_t token);
  Status finishText(const Write &write);

  Engine *engine;
  const GenerateOptions *options;
  Clock::time_point programStart;
  Sampler sampler;
  StopMatcher stop;
  std::optional<text::Detokenizer> detokenizer;
  StepBatch batch;
  std::optional<Sequence> sequence;
  std::optional<Company> company;
  std::span<const float> logits; // of the last token computed
  Clock::time_point firstToken;
  Generation result;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GENERATOR_H
