//===- Figures.cpp - times of a model's steps -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/Figures.h"

#include "runtime/device/cuda/bench/Lab.h"
#include "runtime/devicecheck/StepBed.h"

#include <algorithm>
#include <chrono>

using namespace sluice;
using namespace sluice::devicecheck;

namespace {

/// The maximum of runs of a step's graph in a row, without the host in between.
constexpr int32_t maxGraphRuns = 20;

/// One combination of options, and the tokens that it has computed.
class Way {
public:
  Way(const LinkedModel &model, const std::shared_ptr<cuda::Device> &device,
      const FigureSizes &sizes, const Print &print)
      : model(model), device(device), sizes(sizes), print(print) {}

  /// Loads the model and fills the sequences that are decoded.
  Status begin();
  /// Runs each step once.
  Status runAll();
  Status measureAll();
  /// Returns the tokens of the steps that have been run, in their order.
  const std::vector<int32_t> &tokens() const { return found; }

private:
  using Parts = std::vector<StepBed::Part>;

  Parts oneRow() const { return {{0, 1, true}}; }
  Parts manyRows() const;
  Parts prompt() const { return {{sizes.rows, sizes.prompt, true}}; }
  Expected<double> run(const Parts &parts);
  Status measure(const std::string &what, const Parts &parts, int32_t steps);

  const LinkedModel &model;
  std::shared_ptr<cuda::Device> device;
  const FigureSizes &sizes;
  const Print &print;
  std::unique_ptr<StepBed> bed;
  std::vector<int32_t> found;
};

Status Way::begin() {
  const int64_t context = std::max(sizes.prompt, sizes.context + 1);
  BedLimits limits;
  limits.rows = std::max(sizes.prompt, sizes.rows * sizes.context);
  limits.outputs = sizes.rows;
  limits.sequences = sizes.rows + 1;
  limits.pages = CachePages::pagesFor(sizes.prompt) +
                 sizes.rows * CachePages::pagesFor(sizes.context + 1);
  limits.contextLength = context;
  Expected<std::unique_ptr<StepBed>> made =
      StepBed::make(model.image, device, limits);
  if (!made)
    return made.status();
  bed = made.take();
  Parts all;
  for (int64_t i = 0; i < sizes.rows; ++i)
    all.push_back({i, sizes.context, false});
  return bed->run(all);
}

Way::Parts Way::manyRows() const {
  Parts parts;
  for (int64_t i = 0; i < sizes.rows; ++i)
    parts.push_back({i, 1, true});
  return parts;
}

/// Returns the seconds of a step. Restores the sequences afterwards.
Expected<double> Way::run(const Parts &parts) {
  const auto start = std::chrono::steady_clock::now();
  SLUICE_RETURN_IF_ERROR(bed->run(parts));
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  for (const StepBed::Part &part : parts)
    bed->drop(part.sequence, part.tokens);
  return taken.count();
}

Status Way::runAll() {
  for (const Parts &parts : {oneRow(), manyRows(), prompt()}) {
    if (Expected<double> taken = run(parts); !taken)
      return taken.status();
    std::vector<int32_t> tokens = bed->tokens();
    found.insert(found.end(), tokens.begin(), tokens.end());
  }
  return {};
}

Status Way::measure(const std::string &what, const Parts &parts,
                    int32_t steps) {
  std::vector<double> all;
  for (int32_t i = 0; i < steps; ++i) {
    Expected<double> seconds = run(parts);
    if (!seconds)
      return seconds.status();
    all.push_back(*seconds);
  }
  Expected<double> graph =
      bed->executor().timeLastStep(std::min(steps, maxGraphRuns));
  if (!graph)
    return graph.status();
  const cuda::bench::Times times = cuda::bench::timesOf(std::move(all));
  const cuda::DeviceOptions &options = device->options();
  print({{"part", "figures"},
         {"model", model.name},
         {"pdl", options.dependentLaunch},
         {"carveout", options.largestCarveout ? "max" : "default"},
         {"joined", !options.oneTask},
         {"what", what},
         {"us", times.median * 1e6},
         {"minUs", times.min * 1e6},
         {"steps", steps},
         {"graphUs", *graph * 1e6},
         {"hostGapUs", (times.median - *graph) * 1e6}});
  return {};
}

Status Way::measureAll() {
  SLUICE_RETURN_IF_ERROR(measure("one row", oneRow(), sizes.steps));
  SLUICE_RETURN_IF_ERROR(measure(std::to_string(sizes.rows) + " rows",
                                 manyRows(), sizes.steps / 2 + 1));
  return measure("prompt of " + std::to_string(sizes.prompt), prompt(),
                 sizes.prompts);
}

/// Returns the combinations of options that `allowed` permits, the usual one
/// first; the last is the usual one with a launch for each task.
std::vector<cuda::DeviceOptions> waysOf(const cuda::DeviceOptions &allowed) {
  std::vector<cuda::DeviceOptions> ways;
  for (bool largestCarveout : {true, false})
    for (bool dependentLaunch : {true, false})
      if (largestCarveout <= allowed.largestCarveout &&
          dependentLaunch <= allowed.dependentLaunch) {
        ways.push_back(allowed);
        ways.back().largestCarveout = largestCarveout;
        ways.back().dependentLaunch = dependentLaunch;
      }
  if (!allowed.oneTask) {
    ways.push_back(allowed);
    ways.back().oneTask = true;
  }
  return ways;
}

class FiguresOfModel {
public:
  FiguresOfModel(const LinkedModel &model,
                 const std::shared_ptr<cuda::Device> &device,
                 const FigureSizes &sizes, const Print &print)
      : model(model), device(device), sizes(sizes), print(print),
        allowed(device->options()) {}

  Status run() {
    if (Status s = runWithMarks(); !s.ok())
      return s.withContext("with marks");
    for (const cuda::DeviceOptions &way : waysOf(allowed))
      SLUICE_RETURN_IF_ERROR(runWay(way));
    return {};
  }

private:
  Status runWithMarks() {
    cuda::DeviceOptions marked = allowed;
    marked.marks = true;
    device->use(marked);
    Way way(model, device, sizes, print);
    SLUICE_RETURN_IF_ERROR(way.begin());
    SLUICE_RETURN_IF_ERROR(way.runAll());
    expected = way.tokens();
    return {};
  }

  Status runWay(const cuda::DeviceOptions &options) {
    device->use(options);
    Way way(model, device, sizes, print);
    SLUICE_RETURN_IF_ERROR(way.begin());
    SLUICE_RETURN_IF_ERROR(way.runAll());
    print({{"part", "figures"},
           {"model", model.name},
           {"pdl", options.dependentLaunch},
           {"carveout", options.largestCarveout ? "max" : "default"},
           {"joined", !options.oneTask},
           {"what", "tokens"},
           {"holds", way.tokens() == expected}});
    return way.measureAll();
  }

  const LinkedModel &model;
  std::shared_ptr<cuda::Device> device;
  const FigureSizes &sizes;
  const Print &print;
  const cuda::DeviceOptions allowed;
  std::vector<int32_t> expected;
};

} // namespace

Status devicecheck::measureFigures(const LinkedModel &model,
                                   const std::shared_ptr<cuda::Device> &device,
                                   const FigureSizes &sizes,
                                   const Print &print) {
  const cuda::DeviceOptions before = device->options();
  Status status = FiguresOfModel(model, device, sizes, print).run();
  device->use(before);
  return status.withContext(std::string(model.name));
}
