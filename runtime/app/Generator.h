//===- Generator.h - the text that continues a prompt ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Generator> generator = Generator::create(model, options, start);
//   TokenStream stream(head, generator->request());
//   generator->start(prompt, stream);
//   Expected<Generation> result = generator->run(stream, write);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GENERATOR_H
#define SLUICE_RUNTIME_APP_GENERATOR_H

#include "runtime/app/CommandLine.h"
#include "runtime/app/TokenStream.h"
#include "runtime/core/StopMatcher.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/Tokenizer.h"

#include <functional>

namespace sluice::app {

/// What generating needs to know of a model.
struct TextModel {
  int64_t vocabSize = 0;
  std::vector<int32_t> eosTokens;
  const text::Tokenizer *tokenizer = nullptr; // null if there is none
};

/// How long a generation took.
struct GenerationTiming {
  int64_t promptTokens = 0;
  /// Time to the first token or the logits; nullopt if the user interrupted it.
  std::optional<double> promptSeconds;
  int64_t generatedTokens = 0;
  double generateSeconds = 0; // from the first generated token to the last
  /// Like promptSeconds, but from the program's start.
  std::optional<double> firstTokenSeconds;

  /// Returns the rate of the tokens after the first, over generateSeconds; 0 if
  /// there are none.
  double tokensPerSecond() const;
};

struct Generation {
  std::vector<int32_t> tokens; // without the token that ended the text
  std::string text;            // empty if the model has no tokenizer
  FinishReason finish = FinishReason::Length;
  GenerationTiming timing;
  std::vector<float> lastLogits; // if requested
  /// If requested, for each token its log-probability, and then those of the
  /// likeliest tokens.
  std::vector<std::vector<TokenLogProbability>> reports;
};

/// Turns a stream of tokens into text, ends it at stop strings, and measures
/// the time. Not thread-safe.
class Generator {
public:
  /// Receives each generated token and the text that is then certain.
  using Write = std::function<Status(int32_t token, std::string_view text)>;

  /// Checks the options against the model. Fails if sampling parameters or stop
  /// strings do not fit it.
  static Expected<Generator> create(const TextModel &model,
                                    const GenerateOptions &options,
                                    StreamClock::time_point programStart);

  /// Limits the output to the context's room after `promptTokens` tokens. Must
  /// be called before request(). Fails if there is no room and output is
  /// requested.
  Status fitBehind(int64_t promptTokens, int64_t contextLength);

  /// Returns the request for a stream, without its prompt. Valid as long as the
  /// generator.
  const RequestSpec &request() const { return spec; }

  /// Excludes `time` from the program's time. Must be called before start().
  void leaveOut(StreamClock::duration time) { programStart += time; }

  /// Submits `prompt`, whose tokens are in the vocabulary. Must be called once,
  /// before run().
  void start(std::span<const int32_t> prompt, TokenStream &stream);

  /// Continues the prompt to the end of the text. Must be called once. Fails if
  /// the stream or `write` does.
  Expected<Generation> run(TokenStream &stream, const Write &write);

  /// For callers with several generators, instead of run(): takes the tokens
  /// that have come, without waiting. Returns whether the text has ended; then
  /// finish() must follow. Fails as run() does.
  Expected<bool> takeArrived(TokenStream &stream, const Write &write);
  Expected<Generation> finish(TokenStream &stream, const Write &write);

private:
  Generator(const TextModel &model, RequestSpec spec, StopMatcher stop,
            StreamClock::time_point programStart);

  Status take(TokenEvent token, const Write &write);
  Status finishText(const Write &write);

  RequestSpec spec;
  StreamClock::time_point programStart, promptStart;
  StopMatcher stop;
  std::optional<text::Detokenizer> detokenizer;
  std::optional<StreamClock::time_point> firstToken;
  Generation result;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GENERATOR_H
