//===- StepOutput.h - sends the results of a step -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends what a computed step has produced: rows to the next stage, tokens from
// the target's last stage, or candidates from the draft.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STEPOUTPUT_H
#define SLUICE_RUNTIME_PIPELINE_STEPOUTPUT_H

#include "runtime/comm/Frame.h"
#include "runtime/core/Sampler.h"
#include "runtime/core/Stage.h"
#include "runtime/pipeline/GrammarMasks.h"
#include "runtime/pipeline/LateAnswers.h"
#include "runtime/pipeline/StepCompute.h"

#include <functional>

namespace sluice::pipeline {

/// Keeps one record for each row of the step until the step is sent. Used by
/// one thread.
class StepOutput {
public:
  virtual ~StepOutput() = default;

  /// Returns where the program writes the rows for the next stage; empty if it
  /// produces logits.
  virtual std::span<uint8_t> rowBuffer(int64_t rows) { return {}; }
  virtual ActivationFormat format() const { return ActivationFormat::F32; }
  /// Returns whether these rows stay in the device's memory instead, for
  /// collect().
  virtual bool keepsRows() const { return false; }

  /// Called when the step is formed, before it is computed.
  virtual void begin(Stage &stage) {}
  /// Returns what collect() will read for the row, which wants an output.
  virtual OutputRequest requestOf(const Stage &stage, int64_t row) const {
    return {};
  }
  /// Called when the step is computed: makes the records of its rows.
  virtual Status collect(Stage &stage, const StepCompute &compute) = 0;
  /// Returns whether what collect() read for the row, or what the row sends to
  /// the next stage, is finite. True also for what cannot be seen from here:
  /// rows in the device's memory, answers that are late, guesses.
  virtual bool isFinite(const Stage &stage, int64_t row) const { return true; }
  /// Sends the step's result; `frame` is from Stage::finishStep().
  virtual Status send(StepFrame &frame) = 0;

  /// Starts the threads that work beside the steps; called once, before the
  /// first step. Answers can be late while steps go on: then `wake` is called,
  /// on any thread, when sendLate() has something to send. Fails if the system
  /// gives no thread.
  virtual Status start(std::function<void()> wake) { return {}; }
  /// Sends the late answers that are ready; called also between two steps.
  virtual Status sendLate() { return {}; }
  /// Waits for all late answers and sends them, because no more steps follow.
  virtual Status finish() { return {}; }
};

/// The output of a group's member that is not the first: only the first sends.
class DiscardedOutput final : public StepOutput {
public:
  /// Discards rows of `width` numbers; 0 for a program that ends in logits.
  DiscardedOutput(int64_t width, ActivationFormat format, int64_t rowLimit)
      : rowFormat(format),
        buffer(size_t(rowLimit * width * activationBytes(format))) {}
  /// Discards rows that stay in the device's memory.
  DiscardedOutput() : keeps(true) {}
  bool keepsRows() const override { return keeps; }
  std::span<uint8_t> rowBuffer(int64_t) override { return buffer; }
  ActivationFormat format() const override { return rowFormat; }
  OutputRequest requestOf(const Stage &, int64_t) const override {
    return {.kind = OutputRequest::Greatest};
  }
  Status collect(Stage &, const StepCompute &) override { return {}; }
  Status send(StepFrame &) override { return {}; }

private:
  bool keeps = false;
  ActivationFormat rowFormat = ActivationFormat::F32;
  std::vector<uint8_t> buffer;
};

/// Functions that send a message of this rank.
using SendStep =
    std::function<Status(const StepFrame &, const comm::ActivationRows &)>;
using SendResults = std::function<Status(const ResultFrame &)>;
using SendGuesses = std::function<Status(GuessFrame)>;

/// Sends rows to the next stage.
class ForwardOutput final : public StepOutput {
public:
  ForwardOutput(int64_t width, ActivationFormat format, int64_t rowLimit,
                SendStep sendStep);
  std::span<uint8_t> rowBuffer(int64_t rows) override;
  ActivationFormat format() const override { return rowFormat; }
  Status collect(Stage &stage, const StepCompute &compute) override;
  bool isFinite(const Stage &stage, int64_t row) const override;
  Status send(StepFrame &frame) override;

private:
  int64_t width;
  ActivationFormat rowFormat;
  std::vector<uint8_t> buffer; ///< buffer[row][width] in rowFormat
  SendStep sendStep;
};

/// Sends rows to the next stage from the device's memory.
class DeviceForwardOutput final : public StepOutput {
public:
  using SendRows =
      std::function<Status(const StepFrame &, const device::DeviceRows &)>;
  explicit DeviceForwardOutput(SendRows sendRows)
      : sendRows(std::move(sendRows)) {}
  bool keepsRows() const override { return true; }
  Status collect(Stage &, const StepCompute &compute) override {
    rows = compute.sentRows();
    return {};
  }
  Status send(StepFrame &frame) override { return sendRows(frame, rows); }

private:
  device::DeviceRows rows; ///< of the step
  SendRows sendRows;
};

/// Sends the head the token that each row wants, or the report on the prompt's
/// token after it. A row whose mask takes long is answered later.
class ResultOutput final : public StepOutput {
public:
  /// `name` begins the errors of requests, as in "rank 2: stage 1". `requests`
  /// is the number of slots. `makeTrie` is as in GrammarMasks.
  ResultOutput(std::string name, int64_t vocabSize, int64_t rowLimit,
               int64_t requests, MakeTokenTrie makeTrie,
               SendResults sendResults);
  void begin(Stage &stage) override { masks.begin(stage); }
  OutputRequest requestOf(const Stage &stage, int64_t row) const override;
  Status collect(Stage &stage, const StepCompute &compute) override;
  bool isFinite(const Stage &stage, int64_t row) const override;
  Status send(StepFrame &frame) override;
  Status start(std::function<void()> wake) override {
    return masks.start(std::move(wake));
  }
  Status sendLate() override;
  Status finish() override;

private:
  bool answerIsLate(const TokenChoice &choice, Time until,
                    std::shared_ptr<RowMask> &mask);
  void score(const TokenChoice &choice, int32_t token, ResultRow &answer);
  void answer(const TokenChoice &choice, const RowMask *mask,
              ResultRow &answer);
  Status choose(const TokenChoice &choice, const RowMask *mask,
                ResultRow &answer);
  void fail(const TokenChoice &choice, const Status &why, ResultRow &answer);

  std::string name;
  Sampler sampler;
  LateAnswers late;
  std::vector<ResultRow> answers; ///< one for each row of the step
  ResultFrame results;
  uint64_t sent = 0; ///< result frames sent so far
  SendResults sendResults;
  GrammarMasks masks; ///< destroyed first, because its threads call back
};

/// Chooses the draft's candidates for one row, likeliest first. After an error
/// the row has no candidates.
class Guesser {
public:
  virtual ~Guesser() = default;
  /// Starts the guesser's threads; see StepOutput::start().
  virtual Status start() { return {}; }
  virtual Status guess(Stage &stage, int64_t row, std::span<const float> logits,
                       std::vector<Candidate> &candidates) = 0;
  /// Called when the step is formed, before it is computed.
  virtual void begin(Stage &stage) {}
  /// Called when the step has ended, with the requests that have closed.
  virtual void close(std::span<const RequestId> requests) {}
};

/// Guesses by the draft model's logits, with the noise that the target will
/// use.
class ModelGuesser final : public Guesser {
public:
  /// How long a step waits for its masks. No answer waits for guesses, so this
  /// is longer than GrammarMasks::patience.
  static constexpr Time usualPatience = std::chrono::milliseconds(4);

  /// Guesses tokens below `vocabSize`; the draft must have logits for these,
  /// and may have more. `makeTrie` is as in GrammarMasks.
  ModelGuesser(int64_t vocabSize, int64_t count, int64_t requests,
               MakeTokenTrie makeTrie, Time patience = usualPatience)
      : sampler(vocabSize), masks(std::move(makeTrie), requests), count(count),
        patience(patience) {}
  Status start() override { return masks.start(); }
  void begin(Stage &stage) override {
    masks.begin(stage);
    until.reset();
  }
  void close(std::span<const RequestId> requests) override {
    masks.close(requests);
  }
  Status guess(Stage &stage, int64_t row, std::span<const float> logits,
               std::vector<Candidate> &candidates) override;

private:
  Sampler sampler;
  GrammarMasks masks;
  int64_t count;
  Time patience;
  std::optional<Time> until; ///< how long to wait for the masks of the step
};

/// Sends the head candidates for each row that wants them.
class GuessOutput final : public StepOutput {
public:
  GuessOutput(std::unique_ptr<Guesser> guesser, int64_t rowLimit,
              SendGuesses sendGuesses);
  Status start(std::function<void()>) override { return guesser->start(); }
  void begin(Stage &stage) override { guesser->begin(stage); }
  Status collect(Stage &stage, const StepCompute &compute) override;
  Status send(StepFrame &frame) override;

private:
  std::unique_ptr<Guesser> guesser;
  std::vector<GuessRow> answers; ///< one for each row of the step
  SendGuesses sendGuesses;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STEPOUTPUT_H
