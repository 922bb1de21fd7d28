//===- CheckpointStepTest.cpp - rows die while the device computes --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows die at every place of a step. The host's batch must end with the rows
// that the device reports, and their results must have the bits that they have
// alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sampler.h"
#include "runtime/device/cpu/test/TinyModel.h"
#include "runtime/device/cuda/test/GraphModel.h"
#include "runtime/device/cuda/test/TestGroup.h"

#include <atomic>
#include <gmock/gmock.h>
#include <stdexcept>
#include <thread>

using namespace sluice;
using namespace sluice::cuda;
using cpu::randomTokens;
using cpu::TinyPart;
using cpu::TinyProgram;

namespace {

constexpr int64_t requests = 6;

const TinyProgram &tiny() {
  static const TinyProgram program(cpu::Isa::Avx2);
  return program;
}

/// Makes rows die before a kernel: the n-th that the device runs after the
/// killer was armed.
struct Killer {
  std::atomic<int64_t> countdown{-1};
  std::vector<int64_t> rows;
  DeviceReaper *reaper = nullptr;
  std::string kernel; ///< the kernel that was about to run

  emulator::EmulatedOptions options() {
    emulator::EmulatedOptions options;
    options.beforeKernel = [this](const std::string &name) {
      if (countdown < 0 || countdown-- != 0)
        return;
      kernel = name;
      reaper->kill(rows);
    };
    return options;
  }
};

/// A step of single rows, each after a prompt of its own.
class CheckpointStepTest : public testing::Test {
protected:
  /// Returns the logits of each request, computed without batch mates.
  static const std::vector<RowLogits> &expected() {
    static const std::vector<RowLogits> logits = [] {
      std::vector<RowLogits> all;
      GraphModel model(tiny(), {TinyPart::Whole}, {});
      for (int64_t i = 0; i < requests; ++i)
        all.push_back(graphLogitsAlone(model, promptOf(i), 32));
      return all;
    }();
    return logits;
  }

  static std::vector<int32_t> promptOf(int64_t request) {
    return randomTokens(4 + request, unsigned(request));
  }

  /// Brings the prompts into the cache, except for their last tokens, of which
  /// the batch is made. A row comes before each of these, so that rows move
  /// over holes.
  void begin(GraphModel &model, StepBatch &batch) {
    ASSERT_NO_FATAL_FAILURE(begin(model, batch, sequences));
  }
  static void begin(GraphModel &model, StepBatch &batch,
                    std::vector<SequenceId> &ids) {
    ids.clear();
    for (int64_t i = 0; i < requests; ++i) {
      ids.push_back(*model.pages().open());
      std::vector<int32_t> tokens = promptOf(i);
      StepBatch prompt(32, 1);
      for (size_t t = 0; t + 2 < tokens.size(); ++t)
        ASSERT_TRUE(prompt.add(ids.back(), int64_t(t), tokens[t], false).ok());
      model.place(prompt);
      ASSERT_TRUE(model.execute(prompt).ok());
    }
    for (int64_t i = 0; i < requests; ++i) {
      std::vector<int32_t> tokens = promptOf(i);
      for (size_t t = tokens.size() - 2; t < tokens.size(); ++t)
        ASSERT_TRUE(batch
                        .add(ids[size_t(i)], int64_t(t), tokens[t],
                             t + 1 == tokens.size())
                        .ok());
    }
    model.place(batch);
  }

  /// Expects that living rows have the bits that they have alone.
  void check(GraphModel &model, const StepBatch &batch) {
    check(model, batch, expected());
  }
  void check(GraphModel &model, const StepBatch &batch,
             const std::vector<RowLogits> &right) {
    for (int64_t output = 0; output < batch.outputs(); ++output) {
      SequenceId id =
          batch.sequences()[size_t(batch.outputRows()[size_t(output)])];
      auto request =
          std::find(sequences.begin(), sequences.end(), id) - sequences.begin();
      EXPECT_EQ(model.logits(output), right[size_t(request)]) << request;
    }
  }

  std::vector<SequenceId> sequences;
};

} // namespace

TEST_F(CheckpointStepTest, RowsDieBeforeEachKernelOfAStep) {
  Killer killer;
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, {},
                   killer.options());
  std::set<int64_t> leavings;
  int64_t at = 0;
  for (bool reached = true; reached && !HasFailure(); at += 1) {
    StepBatch batch(32, 8);
    begin(model, batch);
    DeviceReaper reaper(batch);
    killer.reaper = &reaper;
    // The first row, two in the middle and the fifth.
    killer.rows = {0, 1, 4, 5, 6, 7, 8, 9};
    killer.countdown = at;
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    reached = killer.countdown < 0;
    killer.countdown = -1;
    EXPECT_TRUE(batch.rows() == 12 || batch.rows() == 4) << batch.rows();
    EXPECT_EQ(batch.outputs(), batch.rows() / 2);
    leavings.insert(batch.rows());
    check(model, batch);
    for (SequenceId id : sequences)
      model.pages().close(id);
  }
  // The rows have died in time, and too late.
  EXPECT_EQ(leavings, (std::set<int64_t>{4, 12}));
  EXPECT_GT(at, 40);
}

TEST_F(CheckpointStepTest, RowsLeaveAtSeveralCheckpointsOfAStep) {
  // Rows 2i and 2i+1 die before the i-th operand of a step.
  StepBatch batch(32, 8);
  DeviceReaper reaper(batch);
  int64_t seen = 0;
  std::atomic<bool> armed{false};
  emulator::EmulatedOptions options;
  options.beforeKernel = [&](const std::string &name) {
    if (!armed || name != "sluice_operand_rows" || seen >= 5)
      return;
    reaper.kill({2 * seen, 2 * seen + 1});
    ++seen;
  };
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, {}, options);
  begin(model, batch);
  armed = true;
  ASSERT_TRUE(model.execute(batch, &reaper).ok());
  EXPECT_GE(reaper.count, 3);
  ASSERT_EQ(batch.rows(), 2);
  EXPECT_EQ(batch.sequences()[0], sequences[5]);
  check(model, batch);
}

/// In this graph blocks go over rows. 32 rows of a prompt are a tile until rows
/// before it leave, and its last rows, or all of them, move to their places.
TEST_F(CheckpointStepTest, ATileIsBrokenUpAndItsRowsAreComputedAlone) {
  const std::vector<std::vector<int32_t>> prompts = {randomTokens(20, 20),
                                                     randomTokens(32, 32)};
  std::vector<RowLogits> right = expected();
  {
    GraphModel model(tiny(), {TinyPart::Whole}, {});
    for (const std::vector<int32_t> &tokens : prompts)
      right.push_back(graphLogitsAlone(model, tokens, 32));
  }
  for (auto [order, dying] : {std::pair(emulator::Order::Ascending, 6),
                              std::pair(emulator::Order::Shuffled, 32)}) {
    Killer killer;
    emulator::EmulatedOptions options = killer.options();
    options.order = order;
    GraphLimits limits;
    limits.rows = 64;
    GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, limits, options);
    for (int64_t i = 0; i < dying; ++i)
      killer.rows.push_back(i);
    for (int64_t at = 0; at < 40 && !HasFailure(); at += 13) {
      StepBatch batch(64, 8);
      begin(model, batch);
      for (const std::vector<int32_t> &tokens : prompts) {
        sequences.push_back(*model.pages().open());
        for (size_t t = 0; t < tokens.size(); ++t)
          ASSERT_TRUE(batch
                          .add(sequences.back(), int64_t(t), tokens[t],
                               t + 1 == tokens.size())
                          .ok());
      }
      model.place(batch);
      DeviceReaper reaper(batch);
      killer.reaper = &reaper;
      killer.countdown = at;
      ASSERT_TRUE(model.execute(batch, &reaper).ok());
      EXPECT_EQ(batch.rows(), 64 - dying) << "died before kernel " << at;
      check(model, batch, right);
      for (SequenceId id : sequences)
        model.pages().close(id);
    }
  }
}

/// The hosts of the other members do not know which rows are dead, and their
/// devices come to the checkpoints at any time.
TEST_F(CheckpointStepTest, TheFirstMemberDecidesForItsGroup) {
  TestExchange exchange(2);
  TestGroup first(exchange, 0), second(exchange, 1);
  Killer killer;
  const std::vector parts = {TinyPart::WholeWithCheckpoints};
  GraphModel deciding(tiny(), parts, {.group = &first}, killer.options());
  GraphModel following(tiny(), parts, {.group = &second});
  for (int64_t at : {0, 9, 20}) {
    StepBatch batch(32, 8), same(32, 8);
    DeviceReaper reaper(batch), others(same);
    std::thread other([&] {
      std::vector<SequenceId> ids;
      begin(following, same, ids);
      EXPECT_TRUE(following.execute(same, &others).ok());
      for (SequenceId id : ids)
        following.pages().close(id);
    });
    begin(deciding, batch);
    killer.reaper = &reaper;
    killer.rows = {0, 1, 4, 5, 6, 7, 8, 9};
    killer.countdown = at;
    ASSERT_TRUE(deciding.execute(batch, &reaper).ok());
    other.join();
    EXPECT_EQ(batch.rows(), 4) << "died before kernel " << at;
    ASSERT_EQ(same.rows(), batch.rows());
    EXPECT_TRUE(std::ranges::equal(same.sequences(), batch.sequences()));
    EXPECT_EQ(others.passed, reaper.passed);
    check(deciding, batch);
    check(following, same);
    for (SequenceId id : sequences)
      deciding.pages().close(id);
  }
}

/// If another member does not take part in the exchange of a checkpoint, the
/// step ends, and its error says which exchange it was.
TEST_F(CheckpointStepTest, AMemberThatDoesNotComeIsLost) {
  TestExchange exchange(2);
  TestGroup second(exchange, 1, std::chrono::milliseconds(100));
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints},
                   {.group = &second});
  StepBatch batch(1, 1);
  ASSERT_TRUE(batch.add(*model.pages().open(), 0, 5, true).ok());
  model.place(batch);
  EXPECT_EQ(model.execute(batch).message(),
            "emulator: member 1 of a group: exchange 1 of a step or one behind "
            "it has not ended within 0.1 s: another member is lost");
}

/// If an exception leaves a step, the executor's destructor waits for the step,
/// and there waits for the other member no longer than in a step.
TEST_F(CheckpointStepTest, AMemberIsNotMissedForEverAtTheEnd) {
  class Thrower final : public DeviceReaper {
  public:
    using DeviceReaper::DeviceReaper;
    bool findDead(std::span<uint8_t>) override {
      throw std::runtime_error("no memory");
    }
  };
  TestExchange exchange(2);
  TestGroup second(exchange, 1, std::chrono::milliseconds(100));
  const auto begun = std::chrono::steady_clock::now();
  {
    GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints},
                     {.group = &second});
    StepBatch batch(1, 1);
    ASSERT_TRUE(batch.add(*model.pages().open(), 0, 5, true).ok());
    model.place(batch);
    Thrower thrower(batch);
    EXPECT_THROW((void)model.execute(batch, &thrower), std::runtime_error);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  EXPECT_THAT(second.check().message(),
              testing::HasSubstr("another member is lost"));
}

/// The host notices while the step goes on, and not only at its end, that rows
/// have left.
TEST_F(CheckpointStepTest, TheHostSeesWhenRowsLeave) {
  StepBatch batch(32, 8);
  DeviceReaper reaper(batch);
  Killer killer;
  killer.reaper = &reaper;
  killer.rows = {0, 1};
  emulator::EmulatedOptions options = killer.options();
  auto kill = options.beforeKernel;
  std::atomic<bool> armed{false};
  Time late{0};
  options.beforeKernel = [&](const std::string &name) {
    kill(name);
    // This is long after the checkpoint and before the end.
    if (!armed || name != "tiny_argmax")
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    late = std::chrono::steady_clock::now().time_since_epoch();
  };
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, {}, options);
  begin(model, batch);
  armed = true;
  killer.countdown = 3;
  ASSERT_TRUE(model.execute(batch, &reaper).ok());
  ASSERT_EQ(reaper.seenAt.size(), 1u);
  EXPECT_LT(reaper.seenAt[0], late - std::chrono::milliseconds(100));
  // All checkpoints of the graph; see StepGraphTest.cpp.
  EXPECT_EQ(reaper.passed, 11);
}

TEST_F(CheckpointStepTest, NobodyIsLeft) {
  for (const std::vector<TinyPart> &parts :
       {std::vector{TinyPart::WholeWithCheckpoints},
        std::vector{TinyPart::FirstStage, TinyPart::SecondStage}}) {
    StepBatch batch(32, 8);
    DeviceReaper reaper(batch);
    Killer killer;
    killer.reaper = &reaper;
    GraphModel model(tiny(), parts, {}, killer.options());
    begin(model, batch);
    for (int64_t row = 0; row < batch.rows(); ++row)
      killer.rows.push_back(row);
    killer.countdown = 3;
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    EXPECT_EQ(batch.rows(), 0);
    EXPECT_EQ(batch.outputs(), 0);
    EXPECT_EQ(reaper.count, 1);
    EXPECT_LE(reaper.passed, 2);
    // The next step has the usual results.
    EXPECT_EQ(graphLogitsAlone(model, promptOf(0), 32), expected()[0]);
  }
}

/// Requested logits are available even if rows before theirs have left, and
/// tokens are those of the remaining outputs.
TEST_F(CheckpointStepTest, WantedLogitsAreFoundWhereTheirRowsCameTo) {
  StepBatch batch(32, 8);
  DeviceReaper reaper(batch);
  Killer killer;
  killer.reaper = &reaper;
  killer.rows = {0, 1, 4, 5};
  GraphModel model(tiny(), {TinyPart::WholeWithCheckpoints}, {},
                   killer.options());
  begin(model, batch);
  killer.countdown = 3;
  // The last output becomes the third. The token of another output is drawn.
  model.requests.assign(6, {.kind = OutputRequest::Greatest});
  model.requests[5] = {};
  const SamplingParams params = {.temperature = 3, .seed = 5};
  model.requests[3] = requestFor(params, 77);
  ASSERT_TRUE(model.execute(batch, &reaper).ok());
  ASSERT_EQ(batch.outputs(), 4);
  for (int64_t output = 0; output < 4; ++output) {
    SequenceId id =
        batch.sequences()[size_t(batch.outputRows()[size_t(output)])];
    auto request = size_t(std::find(sequences.begin(), sequences.end(), id) -
                          sequences.begin());
    const RowLogits &right = expected()[request];
    std::optional<int32_t> token = model.stage(0).token(output);
    if (request == 5) {
      EXPECT_EQ(output, 2);
      EXPECT_EQ(token, std::nullopt);
      EXPECT_EQ(model.logits(output), right);
    } else if (request == 3) {
      EXPECT_EQ(
          token,
          *Sampler(TinyProgram::vocabSize).sample(right, params, {}, {}, 77));
    } else {
      EXPECT_EQ(token,
                std::max_element(right.begin(), right.end()) - right.begin());
    }
  }
}

/// A row whose ancestor has left is removed after the step. The remaining rows
/// keep their outputs and are sent on as their own.
TEST_F(CheckpointStepTest, OrphansAreTakenOutBehindTheStep) {
  const std::vector whole = {TinyPart::WholeWithCheckpoints};
  const std::vector two = {TinyPart::FirstStage, TinyPart::SecondStage};
  for (auto [parts, deviceRows] :
       {std::pair(whole, false), std::pair(two, false), std::pair(two, true)}) {
    StepBatch batch(32, 8);
    DeviceReaper reaper(batch);
    Killer killer;
    killer.reaper = &reaper;
    killer.rows = {0, 4, 5};
    reaper.orphans = {1};
    GraphLimits limits;
    limits.deviceRows = deviceRows;
    GraphModel model(tiny(), parts, limits, killer.options());
    begin(model, batch);
    killer.countdown = 3;
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    EXPECT_EQ(reaper.endings, 1);
    EXPECT_EQ(batch.rows(), 8);
    ASSERT_EQ(batch.outputs(), 4);
    for (int64_t output = 0; output < 4; ++output) {
      int32_t row = batch.outputRows()[size_t(output)];
      EXPECT_NE(batch.sequences()[size_t(row)], sequences[0]);
    }
    check(model, batch);
  }
}

TEST_F(CheckpointStepTest, ActivationsOfThoseThatLiveGoOn) {
  for (bool deviceRows : {false, true}) {
    StepBatch batch(32, 8);
    DeviceReaper reaper(batch);
    Killer killer;
    killer.reaper = &reaper;
    killer.rows = {0, 1, 6, 7};
    GraphLimits limits;
    limits.deviceRows = deviceRows;
    GraphModel model(tiny(), {TinyPart::FirstStage, TinyPart::SecondStage},
                     limits, killer.options());
    begin(model, batch);
    killer.countdown = 5;
    ASSERT_TRUE(model.execute(batch, &reaper).ok());
    EXPECT_EQ(batch.rows(), 8);
    check(model, batch);
  }
}
