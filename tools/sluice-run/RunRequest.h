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

/// One request: adds its rows to steps and takes their logits until it has all
/// its tokens. The caller executes the steps.
class RunRequest {
public:
  /// `id` is the request's sequence. With `streams`, text is written while it
  /// is generated. The session and the options must outlive the request.
  RunRequest(RunSession &session, const RunOptions &options, SequenceId id,
             StopMatcher stops, bool streams);

  /// Begins with a prompt. `start` is the time at which the process began.
  /// Fails if the context has no room for the prompt and output.
  Status begin(std::vector<int32_t> tokens, RunClock::time_point start);

  bool finished() const { return isFinished; }

  /// Returns the most rows that schedule() adds. outputLimit is the most
  /// outputs.
  static int64_t rowLimit(const RunSession &session, const RunOptions &options);
  static constexpr int64_t outputLimit = 1 + Speculator::chain;

  /// Adds the rows of the request's next step, with guesses behind the certain
  /// row.
  Status schedule(StepBatch &batch);

  /// Takes the request's logits, which begin at row `output` of the step's, and
  /// advances `output` behind them.
  Status accept(const interpreter::RowData &stepLogits, int64_t &output);

  const std::string &text() const { return written; }
  void writeJson(text::JsonWriter &json) const;

private:
  Status addGuesses(StepBatch &batch);
  /// Samples tokens as long as there are logits.
  Status generateTokens();
  bool wasGuessed(int32_t token);
  /// Passes a generated token's text to the stop strings and to the user.
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
  int64_t limit = 0;         // tokens of output
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
