//===- StepsCommand.cpp - the command `steps` -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the time of steps by their rows, for a device's entry in a cluster's
// description (docs/Clusters.md). Steps of different row counts take turns, so
// that all meet the same moments of faster and slower memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/text/JsonWriter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

constexpr int64_t usualContext = 32;

/// The times of steps of one row count.
struct MeasuredStep {
  int64_t rows = 0;
  std::vector<double> seconds; ///< in the order of turns

  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half]
                             : (sorted[half - 1] + sorted[half]) / 2;
  }
};

/// Sequences that each lack one token, and steps that compute it for some of
/// them.
class StepRunner {
public:
  /// `model` must have room for `count` sequences and steps of `stepRows` rows,
  /// and `pages` are those of its cache.
  StepRunner(device::StepExecutor &model, CachePages pages, int64_t stepRows,
             int64_t count)
      : model(model), pages(std::move(pages)), batch(stepRows, count),
        tokens(size_t(count)),
        greatest(size_t(count), {OutputRequest::Greatest}) {}

  /// Opens all sequences and computes all positions but the last one.
  Status fill();
  /// Returns the seconds of a step with one row each of the first `rows`
  /// sequences, and then restores these.
  Expected<double> run(int64_t rows);

private:
  Status add(SequenceId sequence, int64_t position, int32_t token, bool wants);
  Status compute();
  int32_t anyToken() { return int32_t(random() % uint64_t(model.vocabSize())); }
  int64_t lastPosition() const { return pages.limits().tokensPerSequence - 1; }

  device::StepExecutor &model;
  CachePages pages;
  StepBatch batch;
  std::vector<SequenceId> sequences;
  std::vector<int32_t> tokens; ///< of each sequence, at the last position
  std::vector<OutputRequest> greatest; ///< what servers mostly request
  std::mt19937_64 random;              // gives the same tokens in every process
};

/// Adds a row to the batch, and its position to the cache.
Status StepRunner::add(SequenceId sequence, int64_t position, int32_t token,
                       bool wants) {
  SLUICE_RETURN_IF_ERROR(pages.grow(sequence, position + 1));
  return batch.add(sequence, position, token, wants);
}

/// Computes and clears the batch. An interrupt ends the command here too,
/// because filling caches can take minutes.
Status StepRunner::compute() {
  if (batch.rows() == 0)
    return {};
  if (interrupted())
    return failure("interrupted");
  device::StepInput input = {&batch, &pages};
  input.requests = std::span(greatest).first(size_t(batch.outputs()));
  Status executed = model.execute(input);
  batch.clear();
  return executed;
}

Status StepRunner::fill() {
  for (int32_t &token : tokens) {
    token = anyToken();
    Expected<SequenceId> id = pages.open();
    if (!id)
      return id.status();
    sequences.push_back(*id);
    for (int64_t position = 0; position < lastPosition(); ++position) {
      if (batch.freeRows() == 0)
        SLUICE_RETURN_IF_ERROR(compute());
      SLUICE_RETURN_IF_ERROR(add(*id, position, anyToken(), /*wants=*/false));
    }
  }
  return compute();
}

Expected<double> StepRunner::run(int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    SLUICE_RETURN_IF_ERROR(add(sequences[row], lastPosition(), tokens[row],
                               /*wants=*/true));
  auto start = std::chrono::steady_clock::now();
  SLUICE_RETURN_IF_ERROR(compute());
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  for (int64_t row = 0; row < rows; ++row)
    pages.truncate(sequences[row], lastPosition());
  return taken.count();
}

/// Measures in a different order in each turn, so that no row count always
/// follows the same one and inherits its clock rate and caches.
Expected<std::vector<MeasuredStep>> measure(StepRunner &runner,
                                            const StepsOptions &options) {
  std::vector<MeasuredStep> steps;
  for (int64_t rows : options.rows)
    steps.push_back({rows, {}});
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random;
  // The first turn does not count, because caches and pages are cold.
  for (int64_t turn = 0; turn <= options.repeats; ++turn) {
    std::ranges::shuffle(order, random);
    for (size_t i : order) {
      Expected<double> seconds = runner.run(steps[i].rows);
      if (!seconds)
        return seconds.status();
      if (turn > 0)
        steps[i].seconds.push_back(*seconds);
    }
  }
  return steps;
}

std::string toJson(const std::vector<MeasuredStep> &times,
                   const Engine &engine) {
  text::JsonWriter json;
  json.beginObject();
  json.key("model").string(engine.descriptor().name);
  json.key("context").number(engine.contextLength());
  json.key("steps").beginArray();
  for (const MeasuredStep &each : times) {
    json.beginObject();
    json.key("rows").number(each.rows);
    json.key("median_seconds").number(each.median());
    json.key("seconds").numbers(std::span<const double>(each.seconds));
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}

/// Returns a device's `steps` for a cluster's description.
std::string toYaml(const std::vector<MeasuredStep> &times,
                   const Engine &engine) {
  text::JsonWriter name; // a string in JSON is also one in YAML
  name.string(engine.descriptor().name);
  std::string text = "steps:\n  model: " + name.text() +
                     "\n  context: " + std::to_string(engine.contextLength()) +
                     "\n  times:\n";
  for (const MeasuredStep &each : times) {
    char line[96];
    std::snprintf(line, sizeof(line), "    - {rows: %lld, time: %.6g ms}\n",
                  static_cast<long long>(each.rows), 1e3 * each.median());
    text += line;
  }
  return text;
}

/// Makes the engine. Without -c, rows attend to a few positions, or to fewer if
/// the context is shorter.
Expected<std::unique_ptr<Engine>> makeEngine(const ProgramImage &image,
                                             EngineOptions options) {
  Expected<std::unique_ptr<Engine>> engine = Engine::create(image, options);
  if (!engine || options.contextLength != 0)
    return engine;
  options.contextLength = std::min(usualContext, (*engine)->contextLength());
  return Engine::create(image, options);
}

Status checkUse(const Engine &engine) {
  for (const PlanStage &stage : engine.descriptor().plan.stages)
    if (stage.members() > 1)
      return failure("steps: the program is for groups of ", stage.members(),
                     ", whose steps are not one device's: compile it without "
                     "--tensor-parallel");
  return engine.checkOptions();
}

/// Returns the limits for all sequences and the steps that fill them.
device::StepLimits limitsFor(int64_t sequences, const Engine &engine) {
  device::StepLimits limits;
  limits.outputs = limits.sequences = sequences;
  limits.rows =
      std::max(sequences, std::min(engine.options().prefillChunk,
                                   sequences * (engine.contextLength() - 1)));
  limits.pages = sequences * CachePages::pagesFor(engine.contextLength());
  // Like a server, for which steps are measured.
  limits.resident = true;
  return limits;
}

} // namespace

Expected<int> app::runSteps(const ProgramImage &image,
                            const StepsOptions &options) {
  Expected<std::unique_ptr<Engine>> engine = makeEngine(image, options.engine);
  if (!engine)
    return engine.status();
  SLUICE_RETURN_IF_ERROR(checkUse(**engine));
  const device::StepLimits limits = limitsFor(options.rows.back(), **engine);
  Expected<CachePages> pages = CachePages::create(
      {limits.pages, limits.sequences, (*engine)->contextLength()});
  if (!pages)
    return pages.status();
  Expected<std::unique_ptr<device::StepExecutor>> model =
      (*engine)->load(limits);
  if (!model)
    return model.status();
  StepRunner runner(**model, pages.take(), limits.rows, limits.sequences);
  SLUICE_RETURN_IF_ERROR(runner.fill());
  Expected<std::vector<MeasuredStep>> steps = measure(runner, options);
  if (!steps)
    return steps.status();
  SLUICE_RETURN_IF_ERROR(writeOutput(options.json ? toJson(*steps, **engine)
                                                  : toYaml(*steps, **engine)));
  return 0;
}
