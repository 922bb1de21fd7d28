//===- Generator.h - a prompt continued as text ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Generator> generator = Generator::create(engine, options, start);
//   Expected<Generation> result = generator->run(prompt, stream, write);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GENERATOR_H
#define SLUICE_RUNTIME_APP_GENERATOR_H

#include "runtime/app/Engine.h"
#include "runtime/app/TokenStream.h"
#include "runtime/core/StopMatcher.h"
#include "runtime/text/Detokenizer.h"

#include <functional>

namespace sluice::app {

struct GenerationTiming {
  int64_t promptTokens = 0;
  /// Until the first token is known, or the logits; none where the user did not
  /// wait for them.
  std::optional<double> promptSeconds;
  int64_t generatedTokens = 0;
  double generateSeconds = 0; // from the first generated token to the last
  /// The same as promptSeconds, but from the program's start.
  std::optional<double> firstTokenSeconds;

  /// Of the tokens behind the first, whose time generateSeconds is; 0 if none.
  double tokensPerSecond() const;
};

struct Generation {
  std::vector<int32_t> tokens; // without the token that ended the text
  std::string text;            // empty when the model has no tokenizer
  FinishReason finish = FinishReason::Length;
  GenerationTiming timing;
  std::vector<float> lastLogits;    // when asked for
  std::vector<TokenReport> reports; // one for each token, when asked for
};

/// Makes text of a stream of tokens, ends it at stop strings, and keeps the
/// time. Thread-compatible.
class Generator {
public:
  /// Given each generated token and the text that it makes certain.
  using Write = std::function<Status(int32_t token, std::string_view text)>;

  /// Checks the options against the model. Errors: sampling parameters or stop
  /// strings that do not fit it.
  static Expected<Generator> create(const Engine &engine,
                                    const GenerateOptions &options,
                                    StreamClock::time_point programStart);

  /// Bounds the output to what the context has room for behind so many tokens
  /// of a prompt; before request(). Error: it has none, and output is asked
  /// for.
  Status fitBehind(int64_t promptTokens, int64_t contextLength);

  /// What a stream is asked for; without the prompt. Valid as long as the
  /// generator.
  const RequestSpec &request() const { return spec; }

  /// Before run(): so much of the program's time was not for the user's text.
  void leaveOut(StreamClock::duration time) { programStart += time; }

  /// Continues `prompt`, which readPrompt has checked. Once. Errors: of the
  /// stream and of `write`.
  Expected<Generation> run(std::span<const int32_t> prompt, TokenStream &stream,
                           const Write &write);

private:
  Generator(const Engine &engine, const GenerateOptions &options,
            RequestSpec spec, StopMatcher stop,
            StreamClock::time_point programStart);

  Status take(StreamedToken token, const Write &write);
  Status finishText(const Write &write);

  const GenerateOptions *options;
  RequestSpec spec;
  StreamClock::time_point programStart;
  StopMatcher stop;
  std::optional<text::Detokenizer> detokenizer;
  std::optional<StreamClock::time_point> firstToken;
  Generation result;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GENERATOR_H
