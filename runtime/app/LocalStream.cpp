//===- LocalStream.cpp - tokens of a model in this thread -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/LocalStream.h"

#include "runtime/app/Interrupt.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

namespace {

/// Returns the prompt rows of a step.
int64_t chunkRows(const Engine &engine) {
  return std::min(engine.options().prefillChunk, engine.contextLength());
}

} // namespace

LocalStream::LocalStream(Engine &engine, const RequestSpec &spec)
    : engine(engine), spec(spec), sampler(engine.descriptor().vocabSize),
      batch(needs(engine).rows, needs(engine).outputs) {}

EngineNeeds LocalStream::needs(const Engine &engine) {
  int64_t mates = engine.options().batchMates;
  return {chunkRows(engine) + BatchMates::maxRows * mates, 1 + mates,
          1 + mates};
}

Expected<bool> LocalStream::start(std::span<const int32_t> tokens) {
  LocalModel &model = engine.model();
  Expected<SequenceId> id = model.openSequence();
  if (!id)
    return id.status();
  Expected<BatchMates> mates =
      BatchMates::create(model, engine.options().batchMates);
  if (!mates)
    return mates.status();
  batchMates = mates.take();
  sequence.emplace(*id, engine.contextLength());
  prompt = tokens;
  SLUICE_RETURN_IF_ERROR(sequence->append(prompt));
  return compute();
}

/// Returns the request for an output; for the prompt's it is one for logits.
OutputRequest LocalStream::request() const {
  if (output.empty() || spec.logProbabilities >= 0)
    return {};
  return requestFor(spec.sampling, sequence->length());
}

/// Runs a step with some of the sequence's pending tokens and all batch mates.
Status LocalStream::step() {
  LocalModel &model = engine.model();
  batch.clear();
  SLUICE_RETURN_IF_ERROR(batchMates->addBefore(batch));
  int64_t before = batch.outputs();
  int64_t rows = sequence->schedule(batch, chunkRows(engine), LogitsOf::Last);
  bool hasLogits = batch.outputs() > before;
  SLUICE_RETURN_IF_ERROR(batchMates->addBehind(batch));
  // The outputs of batch mates are not used.
  requests.assign(size_t(batch.outputs()), {.kind = OutputRequest::Greatest});
  if (hasLogits)
    requests[size_t(before)] = request();
  SLUICE_RETURN_IF_ERROR(model.execute(batch, requests));
  sequence->commit(rows);
  if (!hasLogits)
    return {};
  known = model.token(before);
  candidates = model.candidates(before);
  if (!known && candidates.empty())
    logits = model.logits(before);
  return {};
}

/// Computes all pending tokens. Returns false if the user interrupts it.
Expected<bool> LocalStream::compute() {
  while (sequence->pending() > 0) {
    if (interrupted()) {
      reason = FinishReason::Cancelled;
      return false;
    }
    SLUICE_RETURN_IF_ERROR(step());
  }
  return true;
}

/// Computes what the next token is sampled from. Returns false if there is
/// none.
Expected<bool> LocalStream::advance() {
  if (spec.maxTokens >= 0 && int64_t(output.size()) >= spec.maxTokens)
    return false;
  if (!output.empty()) {
    // The last token need not fit the context, because no row follows it.
    if (sequence->length() == engine.contextLength())
      return false;
    SLUICE_RETURN_IF_ERROR(sequence->append(output.back()));
  }
  return compute();
}

Expected<int32_t> LocalStream::choose() {
  if (known)
    return *known;
  if (!candidates.empty())
    return sampler.sampleAmong(candidates, spec.sampling, sequence->length());
  return sampler.sample(logits, spec.sampling, prompt, output,
                        sequence->length());
}

Expected<std::optional<TokenReport>> LocalStream::report(int32_t token) const {
  if (spec.logProbabilities < 0)
    return std::optional<TokenReport>();
  Expected<LogProbabilities> all = LogProbabilities::of(logits);
  if (!all)
    return all.status();
  return std::optional<TokenReport>(
      {{token, all->logProbability(token)}, all->top(spec.logProbabilities)});
}

Expected<std::optional<StreamedToken>> LocalStream::next() {
  std::optional<StreamedToken> none;
  Expected<bool> more = advance();
  if (!more)
    return more.status();
  if (!*more)
    return none;
  Expected<int32_t> token = choose();
  if (!token)
    return token.status();
  if (std::find(spec.stopTokens.begin(), spec.stopTokens.end(), *token) !=
      spec.stopTokens.end()) {
    reason = FinishReason::Stop;
    return none;
  }
  Expected<std::optional<TokenReport>> reported = report(*token);
  if (!reported)
    return reported.status();
  output.push_back(*token);
  return std::optional(
      StreamedToken{*token, reported.take(), StreamClock::now()});
}
