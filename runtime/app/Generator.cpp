//===- Generator.cpp - the text that continues a prompt -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Generator.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

double secondsBetween(StreamClock::time_point from,
                      StreamClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Returns the request that the options make to a stream of this model.
Expected<RequestSpec> makeSpec(const TextModel &model,
                               const GenerateOptions &options) {
  SLUICE_RETURN_IF_ERROR(options.sampling.validate(model.vocabSize));
  RequestSpec spec;
  spec.sampling = options.sampling;
  spec.maxTokens = options.predict;
  spec.stopTokens = options.stopTokens;
  for (int32_t token : spec.stopTokens)
    if (token >= model.vocabSize)
      return failure("--stop-token: ", token, " is not in the vocabulary of ",
                     model.vocabSize);
  if (!options.ignoreEos)
    spec.stopTokens.insert(spec.stopTokens.end(), model.eosTokens.begin(),
                           model.eosTokens.end());
  if (options.logProbs)
    spec.logProbabilities =
        int32_t(std::min(*options.logProbs, model.vocabSize));
  return spec;
}

} // namespace

double GenerationTiming::tokensPerSecond() const {
  return generatedTokens > 1 && generateSeconds > 0
             ? double(generatedTokens - 1) / generateSeconds
             : 0;
}

Expected<Generator> Generator::create(const TextModel &model,
                                      const GenerateOptions &options,
                                      StreamClock::time_point programStart) {
  Expected<RequestSpec> spec = makeSpec(model, options);
  if (!spec)
    return spec.status();
  if (!options.stopStrings.empty() && !model.tokenizer)
    return failure("--stop: this model has no tokenizer");
  // Stop tokens already end the stream.
  Expected<StopMatcher> stop = StopMatcher::create(options.stopStrings);
  if (!stop)
    return stop.status().withContext("--stop");
  return Generator(model, spec.take(), stop.take(), programStart);
}

Generator::Generator(const TextModel &model, RequestSpec spec, StopMatcher stop,
                     StreamClock::time_point programStart)
    : spec(std::move(spec)), programStart(programStart), stop(std::move(stop)) {
  if (model.tokenizer)
    detokenizer.emplace(*model.tokenizer);
}

Status Generator::fitBehind(int64_t promptTokens, int64_t contextLength) {
  const int64_t room = contextLength - promptTokens;
  if (room < 1 && spec.maxTokens != 0)
    return failure("the prompt has ", promptTokens,
                   " tokens, which leaves no room for output in a context of ",
                   contextLength);
  spec.maxTokens = spec.maxTokens < 0 ? room : std::min(room, spec.maxTokens);
  return {};
}

Status Generator::take(TokenEvent token, const Write &write) {
  result.tokens.push_back(token.token);
  if (!token.report.empty())
    result.reports.push_back(std::move(token.report));
  const StreamClock::time_point at = pipeline::toTimePoint(token.at);
  if (result.tokens.size() == 1)
    firstToken = at;
  result.timing.generateSeconds = secondsBetween(*firstToken, at);
  std::string certain;
  if (detokenizer)
    certain = stop.push(detokenizer->push(token.token));
  result.text += certain;
  return write(token.token, certain);
}

/// Writes the text that was held back because a character or a stop string
/// might have continued.
Status Generator::finishText(const Write &write) {
  if (!detokenizer || stop.stopped())
    return {};
  std::string rest = stop.push(detokenizer->flush());
  rest += stop.flush();
  if (rest.empty())
    return {};
  result.text += rest;
  return write(-1, rest);
}

void Generator::start(std::span<const int32_t> prompt, TokenStream &stream) {
  promptStart = StreamClock::now();
  result.timing.promptTokens = std::ssize(prompt);
  stream.start(prompt);
}

Expected<Generation> Generator::run(TokenStream &stream, const Write &write) {
  while (!stop.stopped()) {
    Expected<std::optional<TokenEvent>> token = stream.next();
    if (!token)
      return token.status();
    if (!*token)
      break;
    SLUICE_RETURN_IF_ERROR(take(std::move(**token), write));
  }
  return finish(stream, write);
}

Expected<bool> Generator::takeArrived(TokenStream &stream, const Write &write) {
  while (!stop.stopped()) {
    Expected<std::optional<TokenEvent>> token = stream.poll();
    if (!token)
      return token.status();
    if (!*token)
      return stream.ended();
    SLUICE_RETURN_IF_ERROR(take(std::move(**token), write));
  }
  return true;
}

Expected<Generation> Generator::finish(TokenStream &stream,
                                       const Write &write) {
  if (stop.stopped())
    stream.stop();
  firstToken = stream.promptComputed();
  result.finish = stop.stopped() ? FinishReason::Stop : stream.finish();
  SLUICE_RETURN_IF_ERROR(finishText(write));
  result.timing.generatedTokens = int64_t(result.tokens.size());
  if (firstToken) {
    result.timing.promptSeconds = secondsBetween(promptStart, *firstToken);
    result.timing.firstTokenSeconds = secondsBetween(programStart, *firstToken);
  }
  return std::move(result);
}
