//===- RunRequest.h - one request, from prompt to result ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_RUNREQUEST_H
#define SLUICE_TOOLS_SLUICE_RUN_RUNREQUEST_H

#include "RunSession.h"
#include "Speculator.h"
#include "runtime/core/Sampler.h"
#include "runtime/core/Sequence.h"
#include "runtime/core/StopMatcher.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/JsonWriter.h"

#include <chrono>

namespace sluice::run {

using RunClock = std::chrono::steady_clock;

/// Writes token ids as a JSON array.
void writeIds(text::JsonWriter &json, std::span<const int32_t> ids);

/// One request: gives its rows to steps and takes their logits, until it has
/// its tokens. Whoever owns it executes the steps.
class RunRequest {
public:
  /// `id` names its sequence. With `streams` its text is written as it comes.
  /// The session and the options outlive it.
  RunRequest(RunSession &session, const RunOptions &options, SequenceId id,
             StopMatcher stops, bool streams);

  /// `start` is when the process began. Error: more tokens than the context.
  Status begin(std::vector<int32_t> tokens, RunClock::time_point start);

  bool finished() const { return isFinished; }

  /// The most rows and outputs that schedule() adds.
  static int64_t rowLimit(const RunSession &session, const RunOptions &options);
  static constexpr int64_t outputLimit = 1 + Speculator::chain;

  /// Adds the rows of its next step, with guesses behind the certain one.
  Status schedule(StepBatch &batch);

  /// Takes what the step has computed: its logits from row `output` on, which
  /// is then behind them.
  Status accept(const interpreter::RowData &stepLogits, int64_t &output);

  const std::string &text() const { return written; }
  void writeJson(text::JsonWriter &json) const;

private:
  Status addGuesses(StepBatch &batch);
  /// Takes tokens for as long as there are logits to take them from.
  Status generateTokens();
  bool wasGuessed(int32_t token);
  /// Passes a generated token's text on to stop strings and user.
  Status take(int32_t token);
  Status emit(const std::string &piece);
  Status finish(const char *reason);
  bool endsText(int32_t token) const;

  RunSession &session;
  const RunOptions &options;
  StopMatcher stops;
  bool streams;
  Sequence sequence;
  Sampler sampler;
  std::optional<text::Detokenizer> words;
  std::optional<Speculator> speculator;

  std::vector<int32_t> prompt;
  std::vector<int32_t> output;
  int64_t limit = 0;         // of output
  int64_t scheduledRows = 0; // without guesses
  int64_t scheduledOutputs = 0;
  std::vector<float> logits;    // of the last token
  std::vector<int32_t> guesses; // computed behind the last pending token
  std::vector<std::vector<float>> guessLogits; // of each guess
  size_t guessesTaken = 0;
  std::vector<float> lastLogits; // of the prompt's last token
  std::string written;
  bool isFinished = false;
  const char *finishReason = "length";
  RunClock::time_point processStart, promptStart, firstToken;
  double promptSeconds = 0;
  double generateSeconds = 0;
  double firstTokenSeconds = 0;
};

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_RUNREQUEST_H
