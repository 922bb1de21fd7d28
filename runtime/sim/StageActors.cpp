//===- StageActors.cpp - the simulated stages and draft -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StageActors.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace sluice;
using namespace sluice::sim;

static bool inOrder(const ResultRow &a, const ResultRow &b) {
  return a.request != b.request ? a.request < b.request : a.node < b.node;
}

Expected<std::unique_ptr<SimStage>>
SimStage::create(World &world, Rank &rank, WorkerSetup setup, Forward forward) {
  std::unique_ptr<SimStage> made(new SimStage(world, rank, std::move(setup)));
  made->forward = std::move(forward);
  SLUICE_RETURN_IF_ERROR(made->open());
  return made;
}

Expected<std::unique_ptr<SimStage>> SimStage::create(World &world, Rank &rank,
                                                     WorkerSetup setup,
                                                     const OracleTarget &target,
                                                     Answer answer) {
  std::unique_ptr<SimStage> made(new SimStage(world, rank, std::move(setup)));
  made->target = &target;
  made->answer = std::move(answer);
  SLUICE_RETURN_IF_ERROR(made->open());
  return made;
}

/// Returns the path of a row of the stage's step, and the target's token after
/// it.
static std::pair<PathKey, int32_t> truthBehind(Stage &stage, int64_t row,
                                               const OracleTarget &target) {
  PathKey path = target.begin(stage.promptOf(row));
  std::span<const int32_t> output = stage.outputOf(row);
  path.add(output);
  return {path, target.next(path, static_cast<int64_t>(output.size()))};
}

void SimStage::collectResults(ResultFrame &frame) {
  std::span<const Row> rows = stage->rows();
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r].wantsOutput)
      continue;
    int32_t token =
        truthBehind(*stage, static_cast<int64_t>(r), *target).second;
    if (world.faults.wrongAnswer())
      ++token;
    frame.results.push_back({rows[r].node, rows[r].request, token, {}});
  }
  std::sort(frame.results.begin(), frame.results.end(), inOrder);
}

/// The planted fault: holds guesses back until the frame after theirs has left.
void SimStage::holdGuessesBack(StepFrame &frame) {
  std::erase_if(heldBack, [&](const Row &row) {
    return std::ranges::find(frame.closes, row.request) != frame.closes.end();
  });
  if (heldBack.empty()) {
    if (!world.faults.guessesComeLate())
      return;
    auto isGuess = [](const Row &row) { return !row.certain; };
    std::ranges::copy_if(frame.rows, std::back_inserter(heldBack), isGuess);
    std::erase_if(frame.rows, isGuess);
    waitsForNext = true;
  } else if (!std::exchange(waitsForNext, false)) {
    frame.rows.insert(frame.rows.end(), heldBack.begin(), heldBack.end());
    heldBack.clear();
  }
}

void SimStage::finish(const StageTiming &timing) {
  ResultFrame results;
  if (target)
    collectResults(results);
  StepFrame outgoing;
  stage->finishStep(outgoing);
  outgoing.timings.push_back(timing);
  if (!target) {
    outgoing.step = sent++;
    holdGuessesBack(outgoing);
    return forward(std::move(outgoing));
  }
  results.step = sent++;
  results.launched = outgoing.launched;
  results.timings = std::move(outgoing.timings);
  answer(std::move(results));
}

Expected<std::unique_ptr<SimDraft>>
SimDraft::create(World &world, Rank &rank, WorkerSetup setup,
                 const OracleTarget &target, const OracleDraft &oracle,
                 int64_t width, Answer answer) {
  std::unique_ptr<SimDraft> made(new SimDraft(world, rank, std::move(setup)));
  made->target = &target;
  made->oracle = &oracle;
  made->width = width;
  made->answer = std::move(answer);
  SLUICE_RETURN_IF_ERROR(made->open());
  return made;
}

void SimDraft::queued(uint64_t number, uint64_t step) {
  asked.push_back({number, {}});
  asked.back().answer.step = step;
}

void SimDraft::finish(const StageTiming &timing) {
  std::span<const Row> rows = stage->rows();
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r].wantsOutput)
      continue;
    auto row = static_cast<int64_t>(r);
    auto [path, truth] = truthBehind(*stage, row, *target);
    uint64_t number = stage->origins()[r].frame;
    GuessFrame &frame = asked[number - asked.front().number].answer;
    frame.guesses.push_back({rows[r].node, rows[r].request, {}});
    oracle->guess(path, truth, width, frame.guesses.back().candidates);
  }
  StepFrame outgoing; // nobody reads it
  stage->finishStep(outgoing);
  while (!asked.empty() && asked.front().number < stage->firstFrameInUse()) {
    asked.front().answer.timing = timing;
    answer(std::move(asked.front().answer));
    asked.pop_front();
  }
}
