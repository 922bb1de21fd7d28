//===- StepOutput.cpp - sends the results of a step -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StepOutput.h"

#include "runtime/core/LogProbabilities.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

//===----------------------------------------------------------------------===//
// Rows for the next stage
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

bool ForwardOutput::isFinite(const Stage &, int64_t row) const {
  const int64_t rowBytes = width * activationBytes(rowFormat);
  return areFinite(rowFormat, buffer.data() + row * rowBytes, width);
}

Status ForwardOutput::send(StepFrame &frame) {
  comm::ActivationRows rows{rowFormat, width,
                            rowBuffer(int64_t(frame.rows.size()))};
  return sendStep(frame, rows);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

namespace {

/// Calls `answer(row, output)` for each row that wants an output, where
/// `output` is its number among the outputs, and clears the records of the
/// other rows.
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

/// Collects the records of the rows that wanted an output, in the head's order.
template <typename Record>
void gather(const StepFrame &frame, std::vector<Record> &records,
            std::vector<Record> &answers) {
  answers.clear();
  for (size_t row = 0; row < frame.rows.size(); ++row)
    if (frame.rows[row].wantsOutput && records[row].node != noNode)
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
    : name(std::move(name)), sampler(vocabSize), answers(size_t(rowLimit)),
      sendResults(std::move(sendResults)),
      masks(std::move(makeTrie), requests) {}

/// Sets `mask` to the row's mask. Returns whether the answer has to wait for
/// it; then the choice is kept for later.
bool ResultOutput::answerIsLate(const TokenChoice &choice, Time until,
                                std::shared_ptr<RowMask> &mask) {
  mask = masks.maskOf(choice.row);
  if (!mask || (!late.has(choice.row.request) && masks.waitFor(*mask, until)))
    return false;
  late.keep(choice, mask);
  return true;
}

Status ResultOutput::choose(const TokenChoice &choice, const RowMask *mask,
                            ResultRow &answer) {
  Expected<int32_t> token =
      sampler.sample(choice.logits, choice.sampling, choice.prompt,
                     choice.output, choice.row.position + 1,
                     mask ? std::span<const uint64_t>(mask->mask)
                          : std::span<const uint64_t>());
  if (!token)
    return token.status();
  answer.token = *token;
  if (choice.logProbabilities < 0)
    return {};
  return reportProbabilities(choice.logits, *token, choice.logProbabilities,
                             answer.report);
}

void ResultOutput::answer(const TokenChoice &choice, const RowMask *mask,
                          ResultRow &answer) {
  if (mask && !mask->status.ok())
    answer.error = mask->status.withContext(name).message();
  else if (Status s = choose(choice, mask, answer); !s.ok())
    fail(choice, s, answer);
}

/// An error concerns one request only, even if the model causes it.
void ResultOutput::fail(const TokenChoice &choice, const Status &why,
                        ResultRow &answer) {
  answer.isNotFinite = !areLogits(choice.logits);
  const std::string place =
      "behind position " + std::to_string(choice.row.position);
  answer.error = answer.isNotFinite
                     ? why.withContext(place).withContext(name).message()
                     : why.withContext(name).message();
}

OutputRequest ResultOutput::requestOf(const Stage &stage, int64_t row) const {
  const OpenRequest &request = stage.requestOf(row);
  if (request.logProbabilities >= 0 ||
      request.grammar.kind != GrammarSource::Kind::None)
    return {};
  return requestFor(request.sampling, stage.rows()[row].position + 1);
}

/// Fills in the report on a known token of the prompt.
void ResultOutput::score(const TokenChoice &choice, int32_t token,
                         ResultRow &answer) {
  answer.token = token;
  if (Status s = reportProbabilities(choice.logits, token,
                                     choice.logProbabilities, answer.report);
      !s.ok())
    fail(choice, s, answer);
}

bool ResultOutput::isFinite(const Stage &stage, int64_t row) const {
  return !stage.rows()[size_t(row)].wantsOutput ||
         !answers[size_t(row)].isNotFinite;
}

Status ResultOutput::collect(Stage &stage, const StepCompute &compute) {
  const Time until = now() + GrammarMasks::patience;
  collectAnswers(
      stage, answers, [&](int64_t row, int64_t output, ResultRow &result) {
        result.token = 0;
        result.report.clear();
        result.error.clear();
        result.isNotFinite = false;
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
        const OpenRequest &request = stage.requestOf(row);
        const TokenChoice choice = {.row = stage.rows()[size_t(row)],
                                    .logits = compute.logits(output),
                                    .prompt = stage.promptOf(row),
                                    .output = stage.outputOf(row),
                                    .sampling = request.sampling,
                                    .logProbabilities =
                                        request.logProbabilities};
        const size_t next = size_t(choice.row.position) + 1;
        if (next < request.scored.size())
          return score(choice, request.scored[next], result);
        std::shared_ptr<RowMask> mask;
        if (answerIsLate(choice, until, mask))
          result.node = noNode; // not an answer of this step
        else
          answer(choice, mask.get(), result);
      });
  return {};
}

Status ResultOutput::send(StepFrame &frame) {
  masks.close(frame.closes);
  late.drop(frame.closes);
  results.step = sent++;
  results.launched = frame.launched;
  gather(frame, answers, results.results);
  results.timings = frame.timings;
  return sendResults(results);
}

/// Late answers have a frame of their own, without timings, because it belongs
/// to no step.
Status ResultOutput::sendLate() {
  if (late.empty())
    return {};
  results.results.clear();
  results.timings.clear();
  late.takeReady(masks, [this](const TokenChoice &choice, const RowMask &mask) {
    ResultRow &result = results.results.emplace_back();
    result.node = choice.row.node;
    result.request = choice.row.request;
    answer(choice, &mask, result);
  });
  if (results.results.empty())
    return {};
  results.step = sent++;
  return sendResults(results);
}

Status ResultOutput::finish() {
  late.waitForAll(masks);
  return sendLate();
}

Status ModelGuesser::guess(Stage &stage, int64_t row,
                           std::span<const float> logits,
                           std::vector<Candidate> &candidates) {
  std::shared_ptr<RowMask> mask = masks.maskOf(stage.rows()[size_t(row)]);
  if (!until)
    until = now() + patience;
  if (mask && !masks.waitFor(*mask, *until))
    return failure("its mask is not made yet");
  if (mask && !mask->status.ok())
    return mask->status;
  return sampler.rank(logits.first(size_t(sampler.vocabSize())),
                      stage.requestOf(row).sampling, stage.promptOf(row),
                      stage.outputOf(row), stage.rows()[row].position + 1,
                      count, candidates,
                      mask ? std::span<const uint64_t>(mask->mask)
                           : std::span<const uint64_t>());
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
                   // Guesses are optional: a draft that fails costs speed but
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
