//===- LocalModel.h - all stages of a model in this process ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<LocalModel>> model = LocalModel::create(programs,
//                                                                    limits);
//   Expected<SequenceId> id = (*model)->openSequence();
//   StepBatch batch(limits.rows, limits.outputs);
//   batch.add(*id, 0, token, /*wantsLogits=*/true);
//   if (Status s = (*model)->execute(batch); !s.ok()) return s;
//   std::span<const float> logits = (*model)->logits(0);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_LOCALMODEL_H
#define SLUICE_RUNTIME_APP_LOCALMODEL_H

#include "runtime/app/CpuTeam.h"
#include "runtime/device/cpu/CpuExecutor.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice::app {

/// Bounds of a LocalModel; all memory for them is reserved at the start.
struct LocalModelLimits {
  int64_t rows = 512;      ///< rows of a step
  int64_t outputs = 1;     ///< rows of a step that ask for logits
  int64_t sequences = 1;   ///< sequences open at the same time
  int64_t cacheTokens = 0; ///< tokens of all sequences; 0: each a full context
  int64_t contextLength = 0; ///< of one sequence; 0: the programs'
  bool resident = false;     ///< device::StepLimits has it
  int64_t threads = 0;       ///< 0: defaultThreadCount()
  cpu::CacheFormat cacheFormat = cpu::CacheFormat::F32;
  /// How rows go from stage to stage: as they do in a pipeline.
  ActivationFormat activations = ActivationFormat::F32;
};

/// A program that an executor can be made for, on some device.
struct LocalStage {
  bool hasEmbedding = true;
  bool hasOutput = true;
  int64_t hiddenSize = 0;
  int64_t contextLength = 0;
  /// Where its device's memory is counted: adds what make() will take. To be
  /// called for all that one device gets before the first of them is made.
  /// Error: the device has not enough for those so far. May be empty.
  std::function<Status(const device::StepLimits &)> plan;
  std::function<Expected<std::unique_ptr<device::StepExecutor>>(
      const device::StepLimits &)>
      make;
};

/// A program for the CPU, with a cache of that format. Several stages that run
/// one after the other share `pool`, which the first one makes. `pool` may be
/// null: threads of its own. `group`: of a member, as Executor::create() wants
/// it.
LocalStage
cpuStage(cpu::CpuProgram program, cpu::CacheFormat format, const CpuTeam &team,
         std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool = nullptr,
         comm::Collectives *group = nullptr);

/// All programs of one model, one after the other: each step passes through
/// every stage before the next one starts. Thread- compatible.
class LocalModel {
public:
  /// `stages` in order. Errors: stages that do not follow each other, those of
  /// making their executors, limits out of range.
  static Expected<std::unique_ptr<LocalModel>>
  create(std::vector<LocalStage> stages, const LocalModelLimits &limits);
  /// The same of programs for the CPU, on the same threads.
  static Expected<std::unique_ptr<LocalModel>>
  create(std::vector<cpu::CpuProgram> programs, const LocalModelLimits &limits);

  /// The limits in force: zeros replaced by what they stand for.
  const LocalModelLimits &limits() const { return bounds; }
  int64_t vocabSize() const { return stages.back()->vocabSize(); }

  /// Opens an empty sequence. Error: as many as the limit are open.
  Expected<SequenceId> openSequence() { return pages.open(); }
  /// Tokens of the sequence in the cache.
  int64_t sequenceLength(SequenceId sequence) const {
    return pages.length(sequence);
  }
  /// Drops the cache of positions from `length` on; nothing where it is
  /// shorter.
  void truncateSequence(SequenceId sequence, int64_t length) {
    pages.truncate(sequence, length);
  }

  /// Runs one step. Each sequence's rows must continue it: the first of them at
  /// position sequenceLength(). Errors, and then nothing has changed: an
  /// unknown sequence, a gap, a cache without room, those of
  /// Executor::execute(). Allocates nothing but an error's message.
  /// `requests` are StepInput's.
  Status execute(const StepBatch &batch,
                 std::span<const OutputRequest> requests = {});

  /// Of output `output` of the last step, as StepExecutor has them.
  std::span<const float> logits(int64_t output) const {
    return stages.back()->logits(output);
  }
  std::optional<int32_t> token(int64_t output) const {
    return stages.back()->token(output);
  }
  std::span<const TokenLogit> candidates(int64_t output) const {
    return stages.back()->candidates(output);
  }

private:
  LocalModel(const LocalModelLimits &limits, CachePages pages)
      : bounds(limits), pages(std::move(pages)) {}

  device::StepLimits stepLimits() const;
  Status addStage(const LocalStage &stage);
  Status place(const StepBatch &batch);
  void unplace(const StepBatch &batch, int64_t rows);
  Status executeStages(const StepBatch &batch,
                       std::span<const OutputRequest> requests);

  LocalModelLimits bounds;
  CachePages pages;
  std::vector<std::unique_ptr<device::StepExecutor>> stages;
  /// Rows between two stages: what stage i sends lies in activations[i % 2].
  std::vector<uint8_t> activations[2];
  std::vector<const uint8_t *> incoming;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_LOCALMODEL_H
