//===- Generator.cpp - one prompt continued -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Generator.h"

#include "runtime/app/Interrupt.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

namespace {

double secondsBetween(Generator::Clock::time_point from,
                      Generator::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Prompt rows of a step.
int64_t chunkRows(const Engine &engine) {
  return std::min(engine.options().prefillChunk, engine.contextLength());
}

} // namespace

std::string_view app::finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    break;
  }
  return "cancelled";
}

Expected<Generator> Generator::create(Engine &engine,
                                      const GenerateOptions &options,
                                      Clock::time_point programStart) {
  const ProgramDescriptor &program = engine.program();
  if (Status s = options.sampling.validate(program.vocabSize); !s.ok())
    return s;
  if (!options.stopStrings.empty() && !engine.tokenizer())
    return failure("--stop: this model has no tokenizer");
  std::vector<int32_t> stopTokens = options.stopTokens;
  for (int32_t token : stopTokens)
    if (token >= program.vocabSize)
      return failure("--stop-token: ", token, " is not in the vocabulary of ",
                     program.vocabSize);
  if (!options.ignoreEos)
    stopTokens.insert(stopTokens.end(), program.eosTokens.begin(),
                      program.eosTokens.end());
  Expected<StopMatcher> stop =
      StopMatcher::create(options.stopStrings, std::move(stopTokens));
  if (!stop)
    return stop.status().withContext("--stop");
  return Generator(engine, options, stop.take(), programStart);
}

Generator::Generator(Engine &engine, const GenerateOptions &options,
                     StopMatcher stop, Clock::time_point programStart)
    : engine(&engine), options(&options), programStart(programStart),
      sampler(engine.program().vocabSize), stop(std::move(stop)),
      batch(chunkRows(engine) + Company::maxRows * options.engine.company,
            1 + options.engine.company) {
  if (engine.tokenizer())
    detokenizer.emplace(*engine.tokenizer());
}

EngineNeeds Generator::needs() const {
  return {batch.rowLimit(), 1 + options->engine.company,
          1 + options->engine.company};
}

/// One step with some of the sequence's pending tokens and all strangers.
Status Generator::step() {
  cpu::Executor &executor = engine->executor();
  batch.clear();
  if (Status s = company->addBefore(batch); !s.ok())
    return s;
  int64_t before = batch.outputs();
  int64_t rows = sequence->schedule(batch, chunkRows(*engine), LogitsOf::Last);
  bool hasLogits = batch.outputs() > before;
  if (Status s = company->addBehind(batch); !s.ok())
    return s;
  if (Status s = executor.execute(batch); !s.ok())
    return s;
  sequence->commit(rows);
  if (hasLogits)
    logits = executor.logits(before);
  return {};
}

/// Computes all pending tokens; false when the user interrupts.
Expected<bool> Generator::compute() {
  while (sequence->pending() > 0) {
    if (interrupted())
      return false;
    if (Status s = step(); !s.ok())
      return s;
  }
  return true;
}

Status Generator::report(int32_t token) {
  if (!options->logProbs)
    return {};
  Expected<LogProbabilities> all = LogProbabilities::of(logits);
  if (!all)
    return all.status();
  result.reports.push_back(
      {{token, all->logProbability(token)}, all->top(*options->logProbs)});
  return {};
}

/// Samples a token from the logits and takes it; false when the text ends.
Expected<bool> Generator::generateOne(std::span<const int32_t> prompt,
                                      const Write &write) {
  Expected<int32_t> token = sampler.sample(logits, options->sampling, prompt,
                                           result.tokens, sequence->length());
  if (!token)
    return token.status();
  if (stop.isStopToken(*token)) {
    result.finish = FinishReason::Stop;
    return false;
  }
  if (Status s = report(*token); !s.ok())
    return s;
  result.tokens.push_back(*token);
  Clock::time_point now = Clock::now();
  if (result.tokens.size() == 1)
    firstToken = now;
  result.timing.generateSeconds = secondsBetween(firstToken, now);

  std::string certain;
  if (detokenizer)
    certain = stop.push(detokenizer->push(*token));
  result.text += certain;
  if (Status s = write(*token, certain); !s.ok())
    return s;
  if (stop.stopped()) {
    result.finish = FinishReason::Stop;
    return false;
  }
  bool enough = options->predict >= 0 &&
                int64_t(result.tokens.size()) >= options->predict;
  if (enough || sequence->length() == engine->contextLength())
    return false;
  if (Status s = sequence->append(*token); !s.ok())
    return s;
  return true;
}

/// Writes what was held back in case a character or a stop string went on.
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

Expected<Generation> Generator::run(std::span<const int32_t> prompt,
                                    const Write &write) {
  cpu::Executor &executor = engine->executor();
  Expected<SequenceId> id = executor.openSequence();
  if (!id)
    return id.status();
  Expected<Company> strangers =
      Company::create(executor, options->engine.company);
  if (!strangers)
    return strangers.status();
  company = strangers.take();
  sequence.emplace(*id, engine->contextLength());
  if (Status s = sequence->append(prompt); !s.ok())
    return s;

  Clock::time_point promptStart = Clock::now();
  Expected<bool> more = compute();
  if (!more)
    return more.status();
  firstToken = Clock::now();
  result.timing.promptTokens = int64_t(prompt.size());
  result.timing.promptSeconds = secondsBetween(promptStart, firstToken);
  if (*more && options->lastLogits)
    result.lastLogits.assign(logits.begin(), logits.end());
  bool going = *more && options->predict != 0;
  while (going) {
    Expected<bool> accepted = generateOne(prompt, write);
    if (!accepted)
      return accepted.status();
    going = *accepted;
    if (!going)
      break;
    more = compute();
    if (!more)
      return more.status();
    going = *more;
  }
  if (!*more)
    result.finish = FinishReason::Cancelled;
  if (Status s = finishText(write); !s.ok())
    return s;
  result.timing.generatedTokens = int64_t(result.tokens.size());
  result.timing.firstTokenSeconds = secondsBetween(programStart, firstToken);
  return std::move(result);
}
