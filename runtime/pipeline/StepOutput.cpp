//===- StepOutput.cpp - what becomes of a step ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StepOutput.h"

#include "runtime/core/LogProbabilities.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

//===----------------------------------------------------------------------===//
// Rows that go on
//===----------------------------------------------------------------------===//

ForwardOutput::ForwardOutput(int64_t width, ActivationFormat format,
                             int64_t rowLimit, SendStep sendStep)
    : width(width), rowFormat(format),
      buffer(size_t(rowLimit * width * activationBytes(format))),
      sendStep(std::move(sendStep)) {}

std::span<uint8_t> ForwardOutput::rowBuffer(int64_t rows) {
  return std::span(buffer).first(
      size_t(rows * width * activationBytes(rowFormat)));
}

Status ForwardOutput::collect(Stage &, const StepCompute &) { return {}; }

Status ForwardOutput::send(StepFrame &frame) {
  comm::ActivationRows rows{rowFormat, width,
                            rowBuffer(int64_t(frame.rows.size()))};
  return sendStep(frame, rows);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

namespace {

/// Calls `answer(row, output)` for each row that wants an output, `output` its
/// number among them, and clears the records of the others.
template <typename Record, typename Answer>
void collectAnswers(Stage &stage, std::vector<Record> &records, Answer answer) {
  int64_t output = 0;
  for (int64_t row = 0; row < stage.batch().rows(); ++row) {
    const Row &asked = stage.rows()[row];
    records[row].node = asked.node;
    records[row].request = asked.request;
    if (asked.wantsOutput)
      answer(row, output++, records[row]);
  }
}

/// The records of the rows that wanted an output, as the head wants them.
template <typename Record>
void gather(const StepFrame &frame, std::vector<Record> &records,
            std::vector<Record> &answers) {
  answers.clear();
  for (size_t row = 0; row < frame.rows.size(); ++row)
    if (frame.rows[row].wantsOutput)
      answers.push_back(records[row]);
  std::sort(answers.begin(), answers.end(),
            [](const Record &a, const Record &b) {
              return std::tie(a.request, a.node) < std::tie(b.request, b.node);
            });
}

Status reportProbabilities(std::span<const float> logits, int32_t token,
                           int32_t count,
                           std::vector<TokenLogProbability> &report) {
  Expected<LogProbabilities> all = LogProbabilities::of(logits);
  if (!all)
    return all.status();
  report.push_back({token, all->logProbability(token)});
  for (const TokenLogProbability &each : all->top(count))
    report.push_back(each);
  return {};
}

} // namespace

ResultOutput::ResultOutput(std::string name, int64_t vocabSize,
                           int64_t rowLimit, int64_t requests,
                           MakeTokenTrie makeTrie, SendResults sendResults)
    : name(std::move(name)), sampler(vocabSize),
      masks(std::move(makeTrie), requests), answers(size_t(rowLimit)),
      sendResults(std::move(sendResults)) {}

Status ResultOutput::answer(Stage &stage, int64_t row,
                            std::span<const float> logits, ResultRow &answer) {
  const OpenRequest &request = stage.requestOf(row);
  size_t next = size_t(stage.rows()[size_t(row)].position) + 1;
  if (next < request.scored.size()) {
    answer.token = request.scored[next];
    return reportProbabilities(logits, answer.token, request.logProbabilities,
                               answer.report);
  }
  auto allowed = masks.allowedAfter(stage.rows()[size_t(row)]);
  if (!allowed)
    return allowed.status();
  Expected<int32_t> token = sampler.sample(
      logits, request.sampling, stage.promptOf(row), stage.outputOf(row),
      stage.rows()[row].position + 1, *allowed);
  if (!token)
    return token.status();
  answer.token = *token;
  if (request.logProbabilities < 0)
    return {};
  return reportProbabilities(logits, *token, request.logProbabilities,
                             answer.report);
}

OutputRequest ResultOutput::requestOf(const Stage &stage, int64_t row) const {
  const OpenRequest &request = stage.requestOf(row);
  if (request.logProbabilities >= 0 ||
      request.grammar.kind != GrammarSource::Kind::None)
    return {};
  return requestFor(request.sampling, stage.rows()[row].position + 1);
}

Status ResultOutput::collect(Stage &stage, const StepCompute &compute) {
  collectAnswers(
      stage, answers, [&](int64_t row, int64_t output, ResultRow &result) {
        result.token = 0;
        result.report.clear();
        result.error.clear();
        if (std::optional<int32_t> token = compute.token(output)) {
          result.token = *token;
          return;
        }
        if (std::span<const TokenLogit> chosen = compute.candidates(output);
            !chosen.empty()) {
          result.token =
              sampler.sampleAmong(chosen, stage.requestOf(row).sampling,
                                  stage.rows()[row].position + 1);
          return;
        }
        // One request's error is its own.
        if (Status s = answer(stage, row, compute.logits(output), result);
            !s.ok())
          result.error = s.withContext(name).message();
      });
  return {};
}

Status ResultOutput::send(StepFrame &frame) {
  masks.close(frame.closes);
  results.step = frame.step;
  results.launched = frame.launched;
  gather(frame, answers, results.results);
  results.timings = frame.timings;
  return sendResults(results);
}

Status ModelGuesser::guess(Stage &stage, int64_t row,
                           std::span<const float> logits,
                           std::vector<Candidate> &candidates) {
  auto allowed = masks.allowedAfter(stage.rows()[size_t(row)]);
  if (!allowed)
    return allowed.status();
  return sampler.rank(logits.first(size_t(sampler.vocabSize())),
                      stage.requestOf(row).sampling, stage.promptOf(row),
                      stage.outputOf(row), stage.rows()[row].position + 1,
                      count, candidates, *allowed);
}

GuessOutput::GuessOutput(std::unique_ptr<Guesser> guesser, int64_t rowLimit,
                         SendGuesses sendGuesses)
    : guesser(std::move(guesser)), answers(size_t(rowLimit)),
      sendGuesses(std::move(sendGuesses)) {}

Status GuessOutput::collect(Stage &stage, const StepCompute &compute) {
  collectAnswers(stage, answers,
                 [&](int64_t row, int64_t output, GuessRow &answer) {
                   answer.candidates.clear();
                   Status guessed = guesser->guess(
                       stage, row, compute.logits(output), answer.candidates);
                   // Nobody needs a guess: a draft that fails costs speed and
                   // no answer.
                   if (!guessed.ok())
                     answer.candidates.clear();
                 });
  return {};
}

Status GuessOutput::send(StepFrame &frame) {
  guesser->close(frame.closes);
  GuessFrame guesses;
  guesses.step = frame.step;
  gather(frame, answers, guesses.guesses);
  guesses.timing = frame.timings.back();
  return sendGuesses(std::move(guesses));
}
