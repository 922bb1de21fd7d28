//===- StepOutput.h - what becomes of a step ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What becomes of a computed step: its rows go on to the next stage, or are
// answered: with a token by the target's last stage, with candidates by the
// draft.
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

/// Keeps one record for each row of the step, from its end to its sending. Used
/// by one thread.
class StepOutput {
public:
  virtual ~StepOutput() = default;

  /// Where the program writes rows that go on; empty if it has logits instead.
  virtual std::span<uint8_t> rowBuffer(int64_t rows) { return {}; }
  virtual ActivationFormat format() const { return ActivationFormat::F32; }
  /// Whether they stay in the device's memory instead, for collect().
  virtual bool keepsRows() const { return false; }

  /// The step is formed, and about to be computed.
  virtual void begin(Stage &stage) {}
  /// What collect() will read of the row, which wants an output.
  virtual OutputRequest requestOf(const Stage &stage, int64_t row) const {
    return {};
  }
  /// The step is computed: makes the records of its rows.
  virtual Status collect(Stage &stage, const StepCompute &compute) = 0;
  /// Sends what the step has come to; `frame` is from Stage::finishStep().
  virtual Status send(StepFrame &frame) = 0;

  /// Starts what works beside the steps; once, before the first. Answers can be
  /// late, and steps go on without them: `wake` is called, on any thread, when
  /// sendLate() has something to send. Errors: there are no threads to be had.
  virtual Status start(std::function<void()> wake) { return {}; }
  /// Sends the answers that have become ready, also between two steps.
  virtual Status sendLate() { return {}; }
  /// No more steps come: waits for all answers, and sends them.
  virtual Status finish() { return {}; }
};

/// Of a member of a group that is not the first, which sends for all.
class DiscardedOutput final : public StepOutput {
public:
  /// Rows of `width` numbers, 0 for a program that ends in logits.
  DiscardedOutput(int64_t width, ActivationFormat format, int64_t rowLimit)
      : rowFormat(format),
        buffer(size_t(rowLimit * width * activationBytes(format))) {}
  /// Rows that stay where they are, in the device's memory.
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

/// Sends a message of this rank.
using SendStep =
    std::function<Status(const StepFrame &, const comm::ActivationRows &)>;
using SendResults = std::function<Status(const ResultFrame &)>;
using SendGuesses = std::function<Status(GuessFrame)>;

/// To the next stage.
class ForwardOutput final : public StepOutput {
public:
  ForwardOutput(int64_t width, ActivationFormat format, int64_t rowLimit,
                SendStep sendStep);
  std::span<uint8_t> rowBuffer(int64_t rows) override;
  ActivationFormat format() const override { return rowFormat; }
  Status collect(Stage &stage, const StepCompute &compute) override;
  Status send(StepFrame &frame) override;

private:
  int64_t width;
  ActivationFormat rowFormat;
  std::vector<uint8_t> buffer; ///< buffer[row][width] in rowFormat
  SendStep sendStep;
};

/// To the next stage, from the device's memory.
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

/// To the head: the token that each row wants, or what there is to say of the
/// prompt's token behind it. A row whose mask takes long is answered later.
class ResultOutput final : public StepOutput {
public:
  /// `name` begins the errors of requests: "rank 2: stage 1".
  /// `requests`: slots.
  ResultOutput(std::string name, int64_t vocabSize, int64_t rowLimit,
               int64_t requests, MakeTokenTrie makeTrie,
               SendResults sendResults);
  void begin(Stage &stage) override { masks.begin(stage); }
  OutputRequest requestOf(const Stage &stage, int64_t row) const override;
  Status collect(Stage &stage, const StepCompute &compute) override;
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
  uint64_t sent = 0; ///< frames of results
  SendResults sendResults;
  GrammarMasks masks; ///< ends first: its threads call back
};

/// Chooses the draft's candidates for one row, likeliest first. After an error
/// the row has none.
class Guesser {
public:
  virtual ~Guesser() = default;
  /// As StepOutput's.
  virtual Status start() { return {}; }
  virtual Status guess(Stage &stage, int64_t row, std::span<const float> logits,
                       std::vector<Candidate> &candidates) = 0;
  /// The step is formed, and about to be computed.
  virtual void begin(Stage &stage) {}
  /// The step has ended, and these requests are over.
  virtual void close(std::span<const RequestId> requests) {}
};

/// By the draft model's logits, with the noise that the target will draw with.
class ModelGuesser final : public Guesser {
public:
  /// What a step waits for its masks: nobody waits for guesses.
  static constexpr Time usualPatience = std::chrono::milliseconds(4);

  /// Guesses tokens below `vocabSize`; the draft has logits for them, and maybe
  /// for more.
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
  std::optional<Time> until; ///< masks of the step are waited for
};

/// To the head: candidates for each row that wants them.
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
