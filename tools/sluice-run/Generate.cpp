//===- Generate.cpp - from a prompt to text -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "Speculator.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/core/Sampler.h"
#include "runtime/core/Sequence.h"
#include "runtime/core/StopMatcher.h"
#include "runtime/text/Detokenizer.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::run;

using interpreter::RowData;

void sluice::run::writeIds(app::JsonWriter &json,
                           std::span<const int32_t> ids) {
  json.beginArray();
  for (int32_t id : ids)
    json.number(int64_t(id));
  json.endArray();
}

static double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

namespace {

/// One request from prompt to result.
class Generation {
public:
  Generation(Session &session, const Options &options, StopMatcher stops)
      : session(session), options(options), stops(std::move(stops)),
        sequence(0, session.contextLength()),
        batch(options.prefillChunk + Speculator::chain, 1 + Speculator::chain),
        sampler(session.vocabSize()) {
    if (session.draft())
      speculator.emplace(session);
    if (session.tokenizer())
      words.emplace(*session.tokenizer());
  }

  Status run(Clock::time_point start);

private:
  Status computePending();
  Status addGuesses();
  Status advance(int32_t token);
  Status generateTokens(Clock::time_point start);
  /// Passes a generated token's text on to stop strings and user.
  Status take(int32_t token);
  Status emit(const std::string &piece);
  bool endsText(int32_t token);
  std::string toJson() const;

  Session &session;
  const Options &options;
  StopMatcher stops;
  Sequence sequence;
  StepBatch batch;
  Sampler sampler;
  std::optional<text::Detokenizer> words;

  std::vector<int32_t> prompt;
  std::vector<int32_t> output;
  std::vector<float> logits; // of the last token
  std::optional<Speculator> speculator;
  std::vector<int32_t> guesses; // computed behind the last pending token
  std::vector<std::vector<float>> guessLogits; // of each guess
  size_t guessesTaken = 0;
  std::vector<float> lastLogits; // of the prompt's last token
  std::string text;
  const char *finishReason = "length";
  double promptSeconds = 0;
  double generateSeconds = 0;
  double firstTokenSeconds = 0;
};

} // namespace

/// Guesses what follows the pending token and adds it to the step behind it.
Status Generation::addGuesses() {
  guesses.clear();
  guessLogits.clear();
  guessesTaken = 0;
  if (!speculator)
    return {};
  int64_t room = session.contextLength() - sequence.length();
  Expected<std::vector<int32_t>> made = speculator->guess(
      options.sampling, prompt, output, std::min(Speculator::chain, room));
  if (!made)
    return made.status();
  guesses = made.take();
  int64_t position = sequence.length();
  for (int32_t guess : guesses)
    if (Status s = batch.add(sequence.id(), position++, guess, true); !s.ok())
      return s;
  return {};
}

/// Computes what is pending, a chunk at a time, and guesses behind it; keeps
/// the last logits.
Status Generation::computePending() {
  while (sequence.pending() > 0) {
    batch.clear();
    int64_t rows =
        sequence.schedule(batch, options.prefillChunk, LogitsOf::Last);
    if (rows == sequence.pending())
      if (Status s = addGuesses(); !s.ok())
        return s;
    Expected<RowData> result = session.interpreter().step(batch);
    if (!result)
      return result.status();
    sequence.commit(rows);
    if (result->rows() > 0)
      logits.assign(result->row(0).begin(), result->row(0).end());
    for (int64_t i = 1; i < result->rows(); ++i)
      guessLogits.emplace_back(result->row(i).begin(), result->row(i).end());
  }
  return {};
}

/// Takes the token that the last logits gave: where it was guessed its row has
/// been computed, otherwise the guesses were wrong.
Status Generation::advance(int32_t token) {
  if (Status s = sequence.append(token); !s.ok())
    return s;
  if (guessesTaken == guesses.size() || guesses[guessesTaken] != token)
    return computePending();
  logits = guessLogits[guessesTaken++];
  sequence.commit(1);
  return {};
}

Status Generation::emit(const std::string &piece) {
  text += piece;
  return options.json || piece.empty() ? Status() : writeOutput(piece);
}

Status Generation::take(int32_t token) {
  output.push_back(token);
  if (!words)
    return emit(std::to_string(token) + " ");
  return emit(stops.push(words->push(token)));
}

bool Generation::endsText(int32_t token) {
  return !options.ignoreEos &&
         llvm::is_contained(session.interpreter().info().eosTokens, token);
}

Status Generation::generateTokens(Clock::time_point start) {
  // The last token need not fit the context: nothing comes after it.
  int64_t limit = session.contextLength() - sequence.length() + 1;
  if (options.predict >= 0)
    limit = std::min(limit, options.predict);
  Clock::time_point first;
  while (static_cast<int64_t>(output.size()) < limit) {
    Expected<int32_t> token = sampler.sample(logits, options.sampling, prompt,
                                             output, sequence.length());
    if (!token)
      return token.status();
    if (endsText(*token)) {
      finishReason = "stop";
      break;
    }
    if (output.empty()) {
      first = Clock::now();
      firstTokenSeconds = seconds(first - start);
    }
    if (Status s = take(*token); !s.ok())
      return s;
    generateSeconds = seconds(Clock::now() - first);
    if (stops.stopped()) {
      finishReason = "stop";
      break;
    }
    if (static_cast<int64_t>(output.size()) == limit)
      break;
    if (Status s = advance(*token); !s.ok())
      return s;
  }
  if (words)
    if (Status s = emit(stops.push(words->flush()) + stops.flush()); !s.ok())
      return s;
  return {};
}

std::string Generation::toJson() const {
  app::JsonWriter json;
  json.beginObject();
  json.key("tokens");
  writeIds(json, output);
  json.key("text");
  if (words)
    json.string(text);
  else
    json.null();
  json.key("finish_reason").string(finishReason);
  json.key("timing");
  json.beginObject();
  json.key("prompt_tokens").number(static_cast<int64_t>(prompt.size()));
  json.key("prompt_seconds").number(promptSeconds);
  json.key("generated_tokens").number(static_cast<int64_t>(output.size()));
  json.key("generate_seconds").number(generateSeconds);
  json.key("ttft_seconds").number(firstTokenSeconds);
  json.endObject();
  if (!options.sampling.greedy())
    json.key("seed").number(options.sampling.seed);
  if (options.logits)
    json.key("last_logits").numbers(std::span<const float>(lastLogits));
  json.endObject();
  return json.text();
}

Status Generation::run(Clock::time_point start) {
  Expected<std::vector<int32_t>> ids = session.readPrompt(options);
  if (!ids)
    return ids.status();
  prompt = ids.take();
  Clock::time_point promptStart = Clock::now();
  if (Status s = sequence.append(prompt); !s.ok())
    return s;
  if (Status s = computePending(); !s.ok())
    return s;
  promptSeconds = seconds(Clock::now() - promptStart);
  lastLogits = logits;
  if (Status s = generateTokens(start); !s.ok())
    return s;
  return writeOutput((options.json ? toJson() : "") + "\n");
}

Status sluice::run::generate(Session &session, const Options &options,
                             Clock::time_point start) {
  if (!options.stopStrings.empty() && !session.tokenizer())
    return failure("--stop: this model has no tokenizer");
  Expected<StopMatcher> stops = StopMatcher::create(options.stopStrings, {});
  if (!stops)
    return stops.status();
  return Generation(session, options, stops.take()).run(start);
}
