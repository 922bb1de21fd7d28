//===- LocalModel.h - all stages of a model in this process ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs all stages of a model in this process, one after the other:
//
//   Expected<std::unique_ptr<LocalModel>> model =
//       LocalModel::create(programs, limits);
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

/// The sizes that a LocalModel is created with. All memory for them is reserved
/// at creation.
struct LocalModelLimits {
  int64_t rows = 512;        ///< rows of a step
  int64_t outputs = 1;       ///< rows of a step that ask for logits
  int64_t sequences = 1;     ///< sequences open at the same time
  int64_t cacheTokens = 0;   ///< of all sequences; 0: a full context for each
  int64_t contextLength = 0; ///< of one sequence; 0 means the programs'
  bool resident = false;     ///< as in device::StepLimits
  int64_t threads = 0;       ///< 0 means defaultThreadCount()
  cpu::CacheFormat cacheFormat = cpu::CacheFormat::F32;
  /// The format of rows between stages, as in a pipeline.
  ActivationFormat activations = ActivationFormat::F32;
};

/// A program on some device, from which an executor can be made.
struct LocalStage {
  bool hasEmbedding = true;
  bool hasOutput = true;
  int64_t hiddenSize = 0;
  int64_t contextLength = 0;
  /// Plans the device's memory, if it is counted: adds what make() will use.
  /// Called for all stages of a device before make() is called for the first of
  /// them. Error: the device does not have enough memory for the stages so far.
  /// May be empty.
  std::function<Status(const device::StepLimits &)> plan;
  std::function<Expected<std::unique_ptr<device::StepExecutor>>(
      const device::StepLimits &)>
      make;
};

/// Returns a stage that runs a program on the CPU, with a cache of the given
/// format. Stages that run one after the other may share `pool`, which the
/// first stage creates; if `pool` is null, the stage has threads of its own.
/// `group` is needed for a member of a tensor-parallel group; see
/// CpuExecutor::create().
LocalStage
cpuStage(cpu::CpuProgram program, cpu::CacheFormat format, const CpuTeam &team,
         std::shared_ptr<std::shared_ptr<cpu::ThreadPool>> pool = nullptr,
         comm::Collectives *group = nullptr);

/// All programs of one model, run one after the other: a step passes through
/// all stages before the next step starts. Thread-compatible.
class LocalModel {
public:
  /// Creates a model from `stages` in order. Errors: stages that do not follow
  /// each other; those of making their executors; limits out of range.
  static Expected<std::unique_ptr<LocalModel>>
  create(std::vector<LocalStage> stages, const LocalModelLimits &limits);
  /// Creates a model from programs for the CPU, which share their threads.
  static Expected<std::unique_ptr<LocalModel>>
  create(std::vector<cpu::CpuProgram> programs, const LocalModelLimits &limits);

  /// Returns the limits in force, with zeros replaced by their defaults.
  const LocalModelLimits &limits() const { return bounds; }
  int64_t vocabSize() const { return stages.back()->vocabSize(); }

  /// Opens an empty sequence. Error: the limit of open sequences is reached.
  Expected<SequenceId> openSequence() { return pages.open(); }
  /// Returns how many tokens of the sequence are in the cache.
  int64_t sequenceLength(SequenceId sequence) const {
    return pages.length(sequence);
  }
  /// Drops the positions from `length` on from the cache, if there are any.
  void truncateSequence(SequenceId sequence, int64_t length) {
    pages.truncate(sequence, length);
  }

  /// Runs one step. Each sequence's rows must continue it: the first of them is
  /// at position sequenceLength(). `requests` are as in StepInput. Errors: an
  /// unknown sequence; a gap; a cache without room; those of
  /// StepExecutor::execute(). After an error the sequences are unchanged.
  /// Allocates nothing but an error's message.
  Status execute(const StepBatch &batch,
                 std::span<const OutputRequest> requests = {});

  /// Return the results for output `output` of the last step, as in
  /// StepExecutor.
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
  /// Rows between two stages: stage i writes to activations[i % 2].
  std::vector<uint8_t> activations[2];
  std::vector<const uint8_t *> incoming;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_LOCALMODEL_H
