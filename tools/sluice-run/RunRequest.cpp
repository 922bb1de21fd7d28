//===- RunRequest.cpp - one request, from prompt to result ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunRequest.h"

#include "runtime/base/StandardOutput.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::run;

using interpreter::RowData;

void sluice::run::writeIds(text::JsonWriter &json,
                           std::span<const int32_t> ids) {
  json.beginArray();
  for (int32_t id : ids)
    json.number(int64_t(id));
  json.endArray();
}

static double seconds(RunClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

RunRequest::RunRequest(RunSession &session, const RunOptions &options,
                       SequenceId id, StopMatcher stops, bool streams)
    : session(session), options(options), stops(std::move(stops)),
      streams(streams), sequence(id, session.contextLength()),
      sampler(session.vocabSize()) {
  if (session.draft())
    speculator.emplace(session, id);
  if (session.tokenizer())
    words.emplace(*session.tokenizer());
}

int64_t RunRequest::rowLimit(const RunSession &session,
                             const RunOptions &options) {
  return std::min(options.prefillChunk, session.contextLength()) +
         Speculator::chain;
}

Status RunRequest::begin(std::vector<int32_t> tokens,
                         RunClock::time_point start) {
  prompt = std::move(tokens);
  processStart = start;
  promptStart = RunClock::now();
  limit = session.contextLength() - int64_t(prompt.size());
  if (limit < 1 && options.predict != 0)
    return failure("the prompt has ", prompt.size(),
                   " tokens, which leaves no room for output in a context of ",
                   session.contextLength());
  if (options.predict >= 0)
    limit = std::min(limit, options.predict);
  return sequence.append(prompt);
}

/// Guesses the continuation of the pending token and adds the guesses to the
/// step, behind its row.
Status RunRequest::addGuesses(StepBatch &batch) {
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
    SLUICE_RETURN_IF_ERROR(batch.add(sequence.id(), position++, guess, true));
  return {};
}

Status RunRequest::schedule(StepBatch &batch) {
  guesses.clear();
  guessLogits.clear();
  guessesTaken = 0;
  int64_t before = batch.outputs();
  scheduledRows =
      sequence.schedule(batch, options.prefillChunk, LogitsOf::Last);
  if (scheduledRows == sequence.pending())
    SLUICE_RETURN_IF_ERROR(addGuesses(batch));
  scheduledOutputs = batch.outputs() - before;
  return {};
}

Status RunRequest::accept(const RowData &stepLogits, int64_t &next) {
  sequence.commit(scheduledRows);
  if (scheduledOutputs == 0)
    return {};
  auto take = [&] {
    std::span<const float> row = stepLogits.row(next++);
    return std::vector<float>(row.begin(), row.end());
  };
  logits = take();
  for (size_t i = 0; i < guesses.size(); ++i)
    guessLogits.push_back(take());
  if (output.empty()) {
    promptSeconds = seconds(RunClock::now() - promptStart);
    lastLogits = logits;
  }
  return generateTokens();
}

/// Returns whether the token was the next guess, so that its row has been
/// computed. Then takes its logits as the current ones.
bool RunRequest::wasGuessed(int32_t token) {
  if (guessesTaken == guesses.size() || guesses[guessesTaken] != token)
    return false;
  logits = guessLogits[guessesTaken++];
  sequence.commit(1);
  return true;
}

Status RunRequest::emit(const std::string &piece) {
  written += piece;
  return !streams || piece.empty() ? Status() : writeOutput(piece);
}

Status RunRequest::take(int32_t token) {
  if (output.empty()) {
    firstToken = RunClock::now();
    firstTokenSeconds = seconds(firstToken - processStart);
  }
  output.push_back(token);
  Status status = words ? emit(stops.push(words->push(token)))
                        : emit(std::to_string(token) + " ");
  generateSeconds = seconds(RunClock::now() - firstToken);
  return status;
}

bool RunRequest::endsText(int32_t token) const {
  return !options.ignoreEos &&
         llvm::is_contained(session.interpreter().info().eosTokens, token);
}

Status RunRequest::finish(const char *reason) {
  isFinished = true;
  finishReason = reason;
  return words ? emit(stops.push(words->flush()) + stops.flush()) : Status();
}

Status RunRequest::generateTokens() {
  while (static_cast<int64_t>(output.size()) < limit) {
    Expected<int32_t> token = sampler.sample(logits, options.sampling, prompt,
                                             output, sequence.length());
    if (!token)
      return token.status();
    if (endsText(*token))
      return finish("stop");
    SLUICE_RETURN_IF_ERROR(take(*token));
    if (stops.stopped())
      return finish("stop");
    if (static_cast<int64_t>(output.size()) == limit)
      break;
    SLUICE_RETURN_IF_ERROR(sequence.append(*token));
    if (!wasGuessed(*token))
      return {};
  }
  return finish("length");
}

void RunRequest::writeJson(text::JsonWriter &json) const {
  json.beginObject();
  json.key("tokens");
  writeIds(json, output);
  json.key("text");
  if (words)
    json.string(written);
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
}
