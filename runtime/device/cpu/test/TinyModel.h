//===- TinyModel.h - a chain of the tiny model's programs -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYMODEL_H
#define SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYMODEL_H

#include "runtime/core/RowMoves.h"
#include "runtime/device/cpu/test/TinyProgram.h"

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace sluice::cpu {

using Logits = std::vector<float>;

inline std::vector<int32_t> randomTokens(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(random() % TinyProgram::vocabSize);
  return tokens;
}

/// Makes rows leave a batch: at checkpoint number `count`, those for which
/// dies(count, row) returns true.
class Reaper : public device::CheckpointHandler {
public:
  using Dies = std::function<bool(int64_t checkpoint, int64_t row)>;

  Reaper(StepBatch &batch, Dies dies) : batch(batch), dies(std::move(dies)) {
    alive.reserve(static_cast<size_t>(batch.rowLimit()));
    moves.reserve(static_cast<size_t>(batch.rowLimit()));
  }

  std::span<const RowMove> checkpoint() override {
    alive.clear();
    for (int64_t row = 0; row < batch.rows(); ++row)
      alive.push_back(!dies(count, row));
    ++count;
    int64_t remaining = planCompaction(alive, moves);
    if (remaining < batch.rows())
      batch.keep(alive, moves, remaining);
    return moves;
  }

  bool findDead(std::span<uint8_t>) override { return false; }
  std::span<const RowMove> leave(std::span<const uint8_t>, Time) override {
    return {};
  }
  std::span<const RowMove> dropOrphans() override { return {}; }

  int64_t count = 0; ///< checkpoints passed so far

private:
  StepBatch &batch;
  Dies dies;
  std::vector<uint8_t> alive;
  std::vector<RowMove> moves;
};

/// The tiny model as a chain of programs that share one page table.
class TinyModel {
public:
  struct Limits {
    int64_t rows = 512;
    int64_t outputs = 1;
    int64_t sequences = 1;
    int64_t threads = 1;
    ActivationFormat wire = ActivationFormat::F32;
    CacheFormat cacheFormat = CacheFormat::F32;
  };

  TinyModel(const TinyProgram &tiny, const std::vector<TinyPart> &parts,
            const Limits &limits)
      : wire(limits.wire),
        cache(CachePages::create(
                  {limits.sequences *
                       CachePages::pagesFor(TinyProgram::contextLength),
                   limits.sequences, TinyProgram::contextLength})
                  .take()) {
    CpuExecutorOptions each;
    each.rows = limits.rows;
    each.outputs = limits.outputs;
    each.pages = cache.limits().pages;
    each.threads = limits.threads;
    each.cacheFormat = limits.cacheFormat;
    for (TinyPart part : parts) {
      Expected<std::unique_ptr<CpuExecutor>> made =
          CpuExecutor::create(tiny.program(part), each);
      EXPECT_TRUE(made) << made.status().message();
      stages.push_back(made.take());
    }
    copies.resize(parts.size());
    activations.resize(2);
    for (std::vector<uint8_t> &buffer : activations)
      buffer.resize(static_cast<size_t>(limits.rows * rowBytes()));
  }

  CachePages &pages() { return cache; }
  CpuExecutor &stage(size_t index) { return *stages[index]; }
  const CpuExecutorOptions &limits() const { return stages[0]->limits(); }

  /// Grows the sequences that are too short for the batch's rows.
  void place(const StepBatch &batch) {
    for (int64_t row = 0; row < batch.rows(); ++row) {
      SequenceId sequence = batch.sequences()[row];
      int64_t length = batch.positions()[row] + 1;
      if (cache.length(sequence) < length)
        ASSERT_TRUE(cache.grow(sequence, length).ok());
    }
  }

  /// Queues a page copy. Each stage makes it before its own next step, since a
  /// stage takes no part in a step whose rows have all died before they reach
  /// it.
  void addCopy(PageCopy copy) {
    for (std::vector<PageCopy> &each : copies)
      each.push_back(copy);
  }

  /// Runs the step stage by stage, until a stage has no row left.
  Status execute(const StepBatch &batch,
                 device::CheckpointHandler *checkpoints = nullptr) {
    incoming.clear();
    for (size_t i = 0; i < stages.size() && (i == 0 || batch.rows() > 0); ++i) {
      std::vector<uint8_t> &out = activations[i % 2];
      device::StepInput input;
      input.batch = &batch;
      input.pages = &cache;
      input.copies = copies[i];
      input.incoming = incoming;
      input.incomingFormat = input.outgoingFormat = wire;
      input.outgoing = out;
      input.checkpoints = checkpoints;
      SLUICE_RETURN_IF_ERROR(stages[i]->execute(input));
      copies[i].clear();
      incoming.clear();
      for (int64_t row = 0; row < batch.rows(); ++row)
        incoming.push_back(out.data() + row * rowBytes());
    }
    return {};
  }

  Logits logits(int64_t output) const {
    std::span<const float> values = stages.back()->logits(output);
    return {values.begin(), values.end()};
  }

private:
  int64_t rowBytes() const {
    return TinyProgram::hiddenSize * activationBytes(wire);
  }

  ActivationFormat wire;
  CachePages cache;
  std::vector<std::unique_ptr<CpuExecutor>> stages;
  std::vector<std::vector<PageCopy>> copies; ///< copies[stage]
  std::vector<std::vector<uint8_t>> activations;
  std::vector<const uint8_t *> incoming;
};

/// Returns the logits of the last of `tokens`, computed alone by the whole
/// model without checkpoints. Tests compare other results with them.
inline Logits logitsAlone(TinyModel &whole,
                          const std::vector<int32_t> &tokens) {
  SequenceId id = *whole.pages().open();
  auto count = static_cast<int64_t>(tokens.size());
  StepBatch batch(count, 1);
  for (int64_t t = 0; t < count; ++t)
    EXPECT_TRUE(batch.add(id, t, tokens[t], t + 1 == count).ok());
  whole.place(batch);
  Status status = whole.execute(batch);
  EXPECT_TRUE(status.ok()) << status.message();
  whole.pages().close(id);
  return whole.logits(0);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TEST_TINYMODEL_H
