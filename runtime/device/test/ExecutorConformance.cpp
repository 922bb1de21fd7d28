//===- ExecutorConformance.cpp - tests that every executor must pass ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/test/ExecutorConformance.h"

#include "runtime/core/RowMoves.h"

#include <algorithm>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::device;
using namespace sluice::device::test;

namespace {

using Tokens = std::vector<int32_t>;
using Logits = std::vector<float>;

constexpr StepLimits usualLimits = {.rows = 32, .outputs = 8, .sequences = 8};

//===----------------------------------------------------------------------===//
// A model and its sequences
//===----------------------------------------------------------------------===//

/// Lets the rows of some sequences leave as soon as they can: at the first
/// checkpoint that counts, or when the device looks.
class SequenceReaper : public CheckpointHandler {
public:
  /// The rows of `dead` leave at checkpoint `at` or behind it, where the host
  /// passes the checkpoints.
  SequenceReaper(StepBatch &batch, std::set<SequenceId> dead, int64_t at)
      : batch(batch), dead(std::move(dead)), at(at) {}

  std::span<const RowMove> checkpoint() override {
    moves.clear();
    return passed++ < at ? std::span<const RowMove>() : dropDead();
  }

  bool findDead(std::span<uint8_t> alive) override {
    bool found = false;
    for (size_t row = 0; row < alive.size(); ++row)
      if (alive[row] != 0 && dead.contains(batch.sequences()[row])) {
        alive[row] = 0;
        found = true;
      }
    return found;
  }

  std::span<const RowMove> leave(std::span<const uint8_t> alive,
                                 Time) override {
    ++passed;
    if (alive.empty())
      return {};
    for (size_t row = 0; row < alive.size(); ++row)
      if (alive[row] == 0)
        orphaned.insert(batch.sequences()[row]);
    int64_t left = planCompaction(alive, moves);
    batch.keep(alive, moves, left);
    return moves;
  }

  std::span<const RowMove> dropOrphans() override {
    std::vector<uint8_t> stays;
    for (SequenceId sequence : batch.sequences())
      stays.push_back(!orphaned.contains(sequence));
    int64_t left = planCompaction(stays, moves);
    batch.keep(stays, moves, left);
    return moves;
  }

  int64_t passed = 0; ///< checkpoints

private:
  std::span<const RowMove> dropDead() {
    std::vector<uint8_t> stays;
    for (SequenceId sequence : batch.sequences())
      stays.push_back(!dead.contains(sequence));
    if (int64_t left = planCompaction(stays, moves); left < batch.rows())
      batch.keep(stays, moves, left);
    return moves;
  }

  StepBatch &batch;
  const std::set<SequenceId> dead;
  const int64_t at;
  std::set<SequenceId> orphaned;
  std::vector<RowMove> moves;
};

/// The model's executors over one table of pages.
class Model {
public:
  explicit Model(const ExecutorSetup &setup, bool inStages = false,
                 StepLimits limits = usualLimits)
      : batch(limits.rows, limits.outputs, limits.rows),
        pages(CachePages::create(
                  {limits.sequences * CachePages::pagesFor(setup.contextLength),
                   limits.sequences, setup.contextLength})
                  .take()) {
    limits.pages = pages.limits().pages;
    limits.contextLength = setup.contextLength;
    stages = setup.make(limits, inStages);
    copies.resize(stages.size());
  }

  /// Adds the tokens from `from` on to the batch as rows of a sequence. The
  /// last of them is an output.
  Status add(SequenceId sequence, int64_t from, std::span<const int32_t> tokens,
             bool wantsAll = false) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      bool wants = wantsAll || i + 1 == tokens.size();
      SLUICE_RETURN_IF_ERROR(batch.add(sequence, from + static_cast<int64_t>(i),
                                       tokens[i], wants));
    }
    auto length = from + static_cast<int64_t>(tokens.size());
    std::optional<PageCopy> copy;
    if (pages.length(sequence) < length)
      SLUICE_RETURN_IF_ERROR(pages.grow(sequence, length, &copy));
    if (copy)
      addCopy(*copy);
    return {};
  }

  void addCopy(PageCopy copy) {
    for (std::vector<PageCopy> &each : copies)
      each.push_back(copy);
  }

  /// Executes the batch, stage by stage, until no row is left.
  Status execute(CheckpointHandler *handler = nullptr) {
    std::vector<uint8_t> received, sent;
    for (size_t i = 0; i < stages.size() && (i == 0 || batch.rows() > 0); ++i) {
      auto rowBytes =
          static_cast<size_t>(stages[i]->hiddenSize()) * sizeof(float);
      sent.assign(rowBytes * static_cast<size_t>(batch.rows()), 0);
      std::vector<const uint8_t *> incoming;
      for (int64_t row = 0; i > 0 && row < batch.rows(); ++row)
        incoming.push_back(received.data() +
                           static_cast<size_t>(row) * rowBytes);
      StepInput input;
      input.batch = &batch;
      input.pages = &pages;
      input.copies = copies[i];
      input.incoming = incoming;
      input.outgoing = sent;
      input.checkpoints = handler;
      SLUICE_RETURN_IF_ERROR(stages[i]->execute(input));
      copies[i].clear();
      received = sent;
    }
    return {};
  }

  Logits logits(int64_t output) const {
    std::span<const float> values = stages.back()->logits(output);
    return {values.begin(), values.end()};
  }

  /// The output of a sequence; -1: it has none.
  int64_t outputOf(SequenceId sequence) const {
    for (int64_t output = batch.outputs() - 1; output >= 0; --output)
      if (batch.sequences()[batch.outputRows()[output]] == sequence)
        return output;
    return -1;
  }

  /// Runs a sequence from `from` on in steps of `chunk` rows. Returns the last
  /// logits.
  Expected<Logits> run(SequenceId sequence, const Tokens &tokens, int64_t chunk,
                       int64_t from = 0) {
    auto count = static_cast<int64_t>(tokens.size());
    for (int64_t at = from; at < count; at += chunk) {
      batch.clear();
      auto rows = static_cast<size_t>(std::min(chunk, count - at));
      SLUICE_RETURN_IF_ERROR(
          add(sequence, at, std::span(tokens).subspan(at, rows)));
      SLUICE_RETURN_IF_ERROR(execute());
    }
    return logits(0);
  }

  SequenceId open() { return *pages.open(); }

  StepBatch batch;
  CachePages pages;
  ExecutorChain stages;

private:
  std::vector<std::vector<PageCopy>> copies; ///< by stage
};

Tokens randomTokens(const ExecutorSetup &setup, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<size_t>(count));
  for (int32_t &token : tokens)
    token =
        static_cast<int32_t>(random() % static_cast<unsigned>(setup.vocabSize));
  return tokens;
}

/// The last logits of a sequence that is computed alone, token by token.
Expected<Logits> computeAlone(const ExecutorSetup &setup,
                              const Tokens &tokens) {
  Model model(setup);
  return model.run(model.open(), tokens, 1);
}

/// Fails unless the logits have the same bits.
template <typename... Parts>
Status expectSame(const Logits &got, const Expected<Logits> &wanted,
                  const Parts &...what) {
  if (!wanted)
    return wanted.status();
  for (float each : *wanted)
    if (!(each - each == 0))
      return failure("the logits alone are not finite");
  return got == *wanted ? Status() : failure("other logits ", what...);
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

Status chunksChangeNothing(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 70, 1);
  Expected<Logits> alone = computeAlone(setup, tokens);
  for (int64_t chunk : {2, 3, 7, 20, 32})
    for (bool inStages : {false, true}) {
      Model model(setup, inStages);
      Expected<Logits> logits = model.run(model.open(), tokens, chunk);
      if (!logits)
        return logits.status();
      SLUICE_RETURN_IF_ERROR(expectSame(*logits, alone, "in chunks of ", chunk,
                                        inStages ? " in stages" : ""));
    }
  return {};
}

Status batchMatesChangeNothing(const ExecutorSetup &setup) {
  std::vector<Tokens> prompts;
  std::vector<Expected<Logits>> alone;
  for (unsigned i = 0; i < 6; ++i) {
    prompts.push_back(randomTokens(setup, 2 + i, 10 + i));
    alone.push_back(computeAlone(setup, prompts.back()));
  }
  // In another order each time, and in one stage or two.
  for (size_t first = 0; first < prompts.size(); ++first) {
    Model model(setup, /*inStages=*/first % 2 == 1);
    std::vector<SequenceId> sequences;
    for (size_t i = 0; i < prompts.size(); ++i) {
      sequences.push_back(model.open());
      SLUICE_RETURN_IF_ERROR(model.add(sequences.back(), 0,
                                       prompts[(first + i) % prompts.size()]));
    }
    SLUICE_RETURN_IF_ERROR(model.execute());
    for (size_t i = 0; i < prompts.size(); ++i)
      SLUICE_RETURN_IF_ERROR(
          expectSame(model.logits(model.outputOf(sequences[i])),
                     alone[(first + i) % prompts.size()], "of prompt ",
                     (first + i) % prompts.size(), " beside others"));
  }
  return {};
}

Status everyRowMayBeAnOutput(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 8, 20);
  Model model(setup);
  SLUICE_RETURN_IF_ERROR(model.add(model.open(), 0, tokens, /*wantsAll=*/true));
  SLUICE_RETURN_IF_ERROR(model.execute());
  for (size_t length = 1; length <= tokens.size(); ++length) {
    Tokens prefix(tokens.begin(), tokens.begin() + std::ptrdiff_t(length));
    SLUICE_RETURN_IF_ERROR(expectSame(model.logits(int64_t(length) - 1),
                                      computeAlone(setup, prefix), "of output ",
                                      length - 1));
  }
  return {};
}

Status stepsNeedNoOutputs(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 9, 21);
  for (bool inStages : {false, true}) {
    Model model(setup, inStages);
    SequenceId sequence = model.open();
    for (int64_t at = 0; at < 8; ++at)
      SLUICE_RETURN_IF_ERROR(model.batch.add(sequence, at, tokens[at], false));
    SLUICE_RETURN_IF_ERROR(model.pages.grow(sequence, 8));
    SLUICE_RETURN_IF_ERROR(model.execute());
    Expected<Logits> logits = model.run(sequence, tokens, 1, 8);
    if (!logits)
      return logits.status();
    SLUICE_RETURN_IF_ERROR(expectSame(*logits, computeAlone(setup, tokens),
                                      "behind rows without outputs"));
  }
  return {};
}

Status theLivingDoNotSeeTheDead(const ExecutorSetup &setup) {
  std::vector<Tokens> prompts;
  std::vector<Expected<Logits>> alone;
  for (unsigned i = 0; i < 5; ++i) {
    prompts.push_back(randomTokens(setup, 6 - i, 30 + i));
    alone.push_back(computeAlone(setup, prompts.back()));
  }
  const std::set<SequenceId> deaths[] = {{0}, {4}, {1, 2}, {0, 2, 3, 4}};
  for (int64_t at : {0, 1, 3, 6})
    for (const std::set<SequenceId> &dead : deaths)
      for (bool inStages : {false, true}) {
        Model model(setup, inStages);
        for (const Tokens &prompt : prompts)
          SLUICE_RETURN_IF_ERROR(model.add(model.open(), 0, prompt));
        SequenceReaper reaper(model.batch, dead, at);
        SLUICE_RETURN_IF_ERROR(model.execute(&reaper));
        if (reaper.passed == 0)
          return failure("the step passes no checkpoints");
        for (SequenceId sequence = 0; sequence < 5; ++sequence) {
          int64_t output = model.outputOf(sequence);
          if (output < 0 && !dead.contains(sequence))
            return failure("sequence ", sequence, " has lost its output");
          if (output < 0 || dead.contains(sequence))
            continue;
          SLUICE_RETURN_IF_ERROR(expectSame(
              model.logits(output), alone[sequence], "of sequence ", sequence,
              " where ", dead.size(), " died at checkpoint ", at));
        }
      }
  return {};
}

Status aStepEndsWithItsLastRow(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 5, 40);
  for (bool inStages : {false, true}) {
    Model model(setup, inStages);
    SequenceId sequence = model.open();
    SLUICE_RETURN_IF_ERROR(model.add(sequence, 0, tokens));
    SequenceReaper reaper(model.batch, {sequence}, 0);
    SLUICE_RETURN_IF_ERROR(model.execute(&reaper));
    // The next step finds the executor as it was.
    model.pages.truncate(sequence, 0);
    Expected<Logits> logits = model.run(sequence, tokens, 5);
    if (!logits)
      return logits.status();
    SLUICE_RETURN_IF_ERROR(expectSame(*logits, computeAlone(setup, tokens),
                                      "behind a step whose rows have died"));
  }
  return {};
}

Status truncationForgets(const ExecutorSetup &setup) {
  Tokens first = randomTokens(setup, 40, 50);
  Tokens second = first;
  Tokens end = randomTokens(setup, 15, 51);
  std::copy(end.begin(), end.end(), second.end() - 15);
  Model model(setup);
  SequenceId sequence = model.open();
  if (Expected<Logits> logits = model.run(sequence, first, 20); !logits)
    return logits.status();
  model.pages.truncate(sequence, 25);
  Expected<Logits> logits = model.run(sequence, second, 6, 25);
  if (!logits)
    return logits.status();
  return expectSame(*logits, computeAlone(setup, second),
                    "behind tokens that were taken back");
}

Status forksShareAndCopyPages(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 50, 60);
  Tokens other = tokens;
  other.back() = (other.back() + 1) % int32_t(setup.vocabSize);
  for (bool inStages : {false, true}) {
    Model model(setup, inStages);
    SequenceId parent = model.open();
    if (Expected<Logits> logits = model.run(parent, tokens, 25); !logits)
      return logits.status();
    // Inside the second page.
    Expected<CachePages::Fork> fork = model.pages.fork(parent, 49);
    if (!fork)
      return fork.status();
    if (!fork->copy)
      return failure("a fork inside a page copies none");
    model.addCopy(*fork->copy);
    Expected<Logits> logits = model.run(fork->sequence, other, 1, 49);
    if (!logits)
      return logits.status();
    SLUICE_RETURN_IF_ERROR(
        expectSame(*logits, computeAlone(setup, other), "of a fork"));
    // The parent is as it was.
    model.pages.truncate(parent, 49);
    logits = model.run(parent, tokens, 1, 49);
    if (!logits)
      return logits.status();
    SLUICE_RETURN_IF_ERROR(
        expectSame(*logits, computeAlone(setup, tokens), "of a fork's parent"));
  }
  return {};
}

Status mirrorsStoreRowsTwice(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 12, 70);
  Model model(setup);
  SequenceId own = model.open(), mirror = model.open();
  SLUICE_RETURN_IF_ERROR(model.add(own, 0, std::span(tokens).first(11)));
  SLUICE_RETURN_IF_ERROR(model.pages.grow(mirror, 11));
  for (int64_t row = 0; row < 11; ++row)
    SLUICE_RETURN_IF_ERROR(model.batch.addMirror(row, mirror));
  SLUICE_RETURN_IF_ERROR(model.execute());
  Expected<Logits> logits = model.run(mirror, tokens, 1, 11);
  if (!logits)
    return logits.status();
  return expectSame(*logits, computeAlone(setup, tokens),
                    "of a sequence whose rows another has computed");
}

/// Steps that are refused, by what is said; each leaves the executor as it was.
Status badStepsAreRefused(const ExecutorSetup &setup) {
  Tokens tokens = randomTokens(setup, 10, 80);
  Model model(setup);
  SequenceId sequence = model.open();
  if (Expected<Logits> logits = model.run(sequence, tokens, 9); !logits)
    return logits.status();
  StepBatch &batch = model.batch;
  auto refuses = [&](const std::string &why, auto fill) -> Status {
    batch.clear();
    fill();
    Status status = model.execute();
    return status.message() == why
               ? Status()
               : failure("a step is refused with '", status.message(),
                         "', not with '", why, "'");
  };
  auto addRow = [&](SequenceId of, int64_t position, int64_t token) {
    return batch.add(of, position, static_cast<int32_t>(token), true).ok();
  };
  const std::string vocab = std::to_string(setup.vocabSize);
  SLUICE_RETURN_IF_ERROR(refuses("step: no rows", [] {}));
  SLUICE_RETURN_IF_ERROR(
      refuses("step: token " + vocab +
                  " at position 9 is not in the "
                  "vocabulary of " +
                  vocab,
              [&] { addRow(sequence, 9, setup.vocabSize); }));
  SLUICE_RETURN_IF_ERROR(refuses("step: sequence 0 has no page for position 10",
                                 [&] { addRow(sequence, 10, 0); }));
  SLUICE_RETURN_IF_ERROR(
      refuses("step: sequence 3 is not open", [&] { addRow(3, 0, 0); }));
  std::string beyond = std::to_string(setup.contextLength);
  SLUICE_RETURN_IF_ERROR(refuses(
      "step: position " + beyond + " is beyond the context of " + beyond,
      [&] { addRow(sequence, setup.contextLength, 0); }));
  Expected<Logits> logits = model.run(sequence, tokens, 1, 9);
  if (!logits)
    return logits.status();
  return expectSame(*logits, computeAlone(setup, tokens),
                    "behind steps that were refused");
}

constexpr ExecutorCase cases[] = {
    {"chunks_change_nothing", chunksChangeNothing},
    {"batch_mates_change_nothing", batchMatesChangeNothing},
    {"every_row_may_be_an_output", everyRowMayBeAnOutput},
    {"steps_need_no_outputs", stepsNeedNoOutputs},
    {"the_living_do_not_see_the_dead", theLivingDoNotSeeTheDead},
    {"a_step_ends_with_its_last_row", aStepEndsWithItsLastRow},
    {"truncation_forgets", truncationForgets},
    {"forks_share_and_copy_pages", forksShareAndCopyPages},
    {"mirrors_store_rows_twice", mirrorsStoreRowsTwice},
    {"bad_steps_are_refused", badStepsAreRefused},
};

} // namespace

std::span<const ExecutorCase> device::test::executorCases() { return cases; }
