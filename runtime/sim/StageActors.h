//===- StageActors.h - the simulated stages and draft ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The workers that give answers: a stage of the target, which sends its frames
// to the next stage, or as the last stage names the oracle's tokens; and the
// draft, which is a stage whose answers are candidates.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_STAGEACTORS_H
#define SLUICE_RUNTIME_SIM_STAGEACTORS_H

#include "runtime/oracle/Oracle.h"
#include "runtime/sim/Worker.h"

#include <deque>
#include <memory>

namespace sluice::sim {

class SimStage final : public Worker {
public:
  /// Sends a frame to the next stage.
  using Forward = std::function<void(StepFrame)>;
  /// Sends the last stage's answers to the head.
  using Answer = std::function<void(ResultFrame)>;

  /// Creates a stage that is not the last. Fails as Stage::create() does.
  static Expected<std::unique_ptr<SimStage>>
  create(World &world, Rank &rank, WorkerSetup setup, Forward forward);
  /// Creates the last stage; `target` must outlive it.
  static Expected<std::unique_ptr<SimStage>> create(World &world, Rank &rank,
                                                    WorkerSetup setup,
                                                    const OracleTarget &target,
                                                    Answer answer);

private:
  using Worker::Worker;
  void finish(const StageTiming &timing) override;
  void collectResults(ResultFrame &frame);
  void holdGuessesBack(StepFrame &frame);

  const OracleTarget *target = nullptr; ///< null except at the last stage
  Forward forward;
  Answer answer;
  uint64_t sent = 0;
  std::vector<Row> heldBack; ///< guesses that a planted fault holds back
  /// Whether the next frame leaves before these guesses.
  bool waitsForNext = false;
};

class SimDraft final : public Worker {
public:
  using Answer = std::function<void(GuessFrame)>;

  /// `target` and `oracle` must outlive it. `width` is the number of candidates
  /// for each row.
  static Expected<std::unique_ptr<SimDraft>>
  create(World &world, Rank &rank, WorkerSetup setup,
         const OracleTarget &target, const OracleDraft &oracle, int64_t width,
         Answer answer);

private:
  using Worker::Worker;
  void queued(uint64_t number, uint64_t step) override;
  void finish(const StageTiming &timing) override;

  /// A frame that has not been answered, and its answer so far.
  struct Asked {
    uint64_t number = 0;
    GuessFrame answer;
  };

  const OracleTarget *target = nullptr;
  const OracleDraft *oracle = nullptr;
  int64_t width = 1;
  Answer answer;
  std::deque<Asked> asked;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_STAGEACTORS_H
