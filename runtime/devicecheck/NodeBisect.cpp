//===- NodeBisect.cpp - finds the first wrong kernel of a step ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/NodeBisect.h"

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/bed/KernelFacts.h"
#include "runtime/devicecheck/StepBed.h"
#include "runtime/devicecheck/StepMemory.h"

#include <algorithm>
#include <optional>

using namespace sluice;
using namespace sluice::devicecheck;
using namespace sluice::cuda;

namespace {

/// A step of the model: first a prompt, then rows of several sequences, then
/// one row, for which launches have tails and several blocks share the spans of
/// attention.
struct NamedStep {
  const char *name;
  std::vector<StepBed::Part> parts;

  int64_t rows() const {
    int64_t count = 0;
    for (const StepBed::Part &part : parts)
      count += part.tokens;
    return count;
  }
};

/// Returns the steps to run. They are small for large models, for which the
/// emulator takes seconds for one row of a layer.
std::vector<NamedStep> stepsOf(const CudaExecutor &executor) {
  constexpr int64_t largestTiny = 512;
  const int64_t prompt = executor.hiddenSize() <= largestTiny ? 40 : 8;
  return {{"prompt", {{0, prompt, true}}},
          {"rows", {{0, 1, true}, {1, 3, true}, {2, 1, true}}},
          {"one row", {{0, 1, true, /*skipped=*/560}}}};
}

BedLimits limitsOfSteps() {
  BedLimits limits;
  limits.rows = 40;
  limits.outputs = 3;
  limits.sequences = 3;
  limits.pages = 24;
  limits.contextLength = 640;
  return limits;
}

/// A model on a device that launches each node separately.
struct Side {
  std::shared_ptr<Device> device;
  std::unique_ptr<StepBed> bed;
  std::unique_ptr<StepMemory> memory;

  /// With `oneTask`, nodes compute one task of the plan each. A kernel's
  /// results are then compared before they are rounded to operands, in which
  /// small differences grow.
  static Expected<Side> make(const engine::ProgramImage &image,
                             std::shared_ptr<Device> device, bool oneTask) {
    Side side;
    side.device = std::move(device);
    DeviceOptions options = side.device->options();
    options.oneNode = true;
    options.oneTask = oneTask;
    options.marks = false;
    side.device->use(options);
    Expected<std::unique_ptr<StepBed>> made =
        StepBed::make(image, side.device, limitsOfSteps());
    if (!made)
      return made.status();
    side.bed = made.take();
    side.memory =
        std::make_unique<StepMemory>(side.bed->executor(), *side.device);
    return side;
  }

  /// Runs the step. Returns the memory after each node.
  Expected<std::vector<HostBytes>> record(const NamedStep &step) {
    std::vector<HostBytes> states;
    bed->executor().observe([&](size_t, const GraphNode &) -> Status {
      Expected<HostBytes> state = memory->read();
      if (!state)
        return state.status();
      states.push_back(state.take());
      return {};
    });
    Status status = bed->run(step.parts);
    bed->executor().observe({});
    if (!status.ok())
      return status;
    return states;
  }
};

/// Opens an emulated device that plans memory and grids like `device`.
Expected<std::shared_ptr<Device>> openReference(const Device &device) {
  emulator::EmulatedOptions options;
  options.program = {};
  options.multiprocessors = device.properties().multiprocessors;
  options.sharedBytes = device.properties().sharedBytes;
  Expected<std::unique_ptr<Driver>> driver = emulator::openEmulated(options);
  if (!driver)
    return driver.status();
  Expected<std::unique_ptr<Device>> opened = (*driver)->open(0);
  if (!opened)
    return opened.status();
  return std::shared_ptr<Device>(opened.take());
}

/// The results for the nodes of one step.
struct NodeResults {
  size_t nodes = 0, equal = 0;
  double largest = 0;
  std::string kernel; ///< the kernel with the largest difference
  CheckJson wrong;    ///< the first wrong node, or null
};

class Bisect {
public:
  Bisect(const LinkedModel &model, Side device, Side reference,
         const Print &print)
      : model(model), side(std::move(device)), reference(std::move(reference)),
        print(print) {}

  Status run() {
    SLUICE_RETURN_IF_ERROR(compareWeights());
    for (const NamedStep &step : stepsOf(side.bed->executor()))
      if (Status s = compareNodes(step); !s.ok())
        return s.withContext(step.name);
    return {};
  }

private:
  CheckJson line(const char *what) const {
    return {{"part", "bisect"}, {"model", model.name}, {"what", what}};
  }

  Status compareWeights() {
    Expected<HostBytes> expected = reference.memory->readWeights();
    if (!expected)
      return expected.status();
    Expected<HostBytes> found = side.memory->readWeights();
    if (!found)
      return found.status();
    CheckJson made = line("weights");
    made["bytes"] = found->size();
    made["holds"] = *found == *expected;
    if (*found != *expected)
      made["at"] = side.memory->placeInWeights(static_cast<uint64_t>(
          std::ranges::mismatch(*found, *expected).in1 - found->begin()));
    print(made);
    // Kernels are judged with the right weights.
    return side.memory->writeWeights(*expected);
  }

  Status compareNodes(const NamedStep &step);
  /// Adds the difference after a node to the results.
  void judge(const NamedStep &step, size_t number, const GraphNode &node,
             const Difference &apart, NodeResults &results) const;

  const LinkedModel &model;
  Side side, reference;
  const Print &print;
};

void Bisect::judge(const NamedStep &step, size_t number, const GraphNode &node,
                   const Difference &apart, NodeResults &results) const {
  const std::string kernel = nodeName(node);
  ++results.nodes;
  results.equal += apart.isEqual;
  if (apart.largest > results.largest) {
    results.largest = apart.largest;
    results.kernel = kernel;
  }
  if (!results.wrong.is_null() || apart.isEqual ||
      apart.largest <= differenceAllowed(kernel))
    return;
  results.wrong = line("node");
  results.wrong["step"] = step.name;
  results.wrong["node"] = number + 1;
  results.wrong["kernel"] = kernel;
  results.wrong["at"] = side.memory->placeOf(apart.at);
  results.wrong["operands"] = side.memory->operandsOf(node);
  results.wrong["difference"] = jsonOf(apart.largest);
  results.wrong["holds"] = false;
}

Status Bisect::compareNodes(const NamedStep &step) {
  Expected<HostBytes> first = reference.memory->read();
  if (!first)
    return first.status();
  Expected<std::vector<HostBytes>> states = reference.record(step);
  if (!states)
    return states.status();
  NodeResults results;
  side.bed->executor().observe(
      [&](size_t number, const GraphNode &node) -> Status {
        if (number >= states->size())
          return failure("the device has more nodes than the emulator");
        Expected<HostBytes> found = side.memory->read();
        if (!found)
          return found.status();
        const HostBytes &expected = (*states)[number];
        const HostBytes &before = number > 0 ? (*states)[number - 1] : *first;
        Difference apart = side.memory->compare(*found, expected, before);
        judge(step, number, node, apart, results);
        return apart.isEqual ? Status() : side.memory->write(expected);
      });
  Status status = side.bed->run(step.parts);
  side.bed->executor().observe({});
  if (!results.wrong.is_null())
    print(results.wrong);
  if (!status.ok())
    return status;
  CheckJson made = line("nodes");
  made["step"] = step.name;
  made["nodes"] = results.nodes;
  made["equalBits"] = results.equal;
  made["largest"] = jsonOf(results.largest);
  made["kernel"] = results.kernel;
  made["holds"] = results.wrong.is_null() && results.nodes == states->size();
  print(made);
  return {};
}

/// Compares whole graphs with the same nodes run separately, on one device.
class GraphCheck {
public:
  /// `options` are those of graphs, without oneNode.
  GraphCheck(const LinkedModel &model, Side device,
             const DeviceOptions &options, int32_t graphRuns,
             const Print &print)
      : model(model), side(std::move(device)), options(options),
        graphRuns(graphRuns), print(print) {}

  Status run() {
    for (const NamedStep &step : stepsOf(side.bed->executor()))
      if (Status s = checkStep(step); !s.ok())
        return s.withContext(step.name);
    return {};
  }

private:
  using Nodes = std::span<const GraphNode>;

  Status checkStep(const NamedStep &step);
  Status checkGraphs(const NamedStep &step, bool dependent);
  Expected<HostBytes> runNodes(Nodes nodes);
  Status launch(Nodes nodes);
  Expected<std::optional<HostBytes>> findOther(Nodes nodes);
  Expected<size_t> firstWrong(Nodes nodes);

  const LinkedModel &model;
  Side side;
  const DeviceOptions options;
  const int32_t graphRuns;
  const Print &print;
  HostBytes first;               ///< before the step
  std::vector<HostBytes> states; ///< after each node
};

/// Returns what a graph of the nodes leaves if it starts from the state before
/// the step.
Expected<HostBytes> GraphCheck::runNodes(Nodes nodes) {
  SLUICE_RETURN_IF_ERROR(side.memory->write(first));
  if (Status s = launch(nodes); !s.ok())
    return s.withContext("whole graph");
  return side.memory->read();
}

Status GraphCheck::launch(Nodes nodes) {
  const CudaExecutor::Inside inside = side.bed->executor().inside(1);
  Expected<NodeSequence> graph = NodeSequence::make(
      *side.device, inside.kernels, {nodes.begin(), nodes.end()});
  if (!graph)
    return graph.status();
  Status status = graph->launch(inside.stream);
  if (status.ok())
    status = side.device->settle(
        inside.stream,
        ("the graph of the first " + std::to_string(nodes.size()) + " nodes")
            .c_str());
  const std::string where = status.ok() ? "" : graph->whereItStands();
  return where.empty() ? status : status.withContext("it is at " + where);
}

/// Returns a state that a run of the first nodes leaves and that differs from
/// what they leave separately; nothing if all runs leave that state.
Expected<std::optional<HostBytes>> GraphCheck::findOther(Nodes nodes) {
  for (int32_t run = 0; run < graphRuns; ++run) {
    Expected<HostBytes> found = runNodes(nodes);
    if (!found)
      return found.status();
    if (*found != states[nodes.size() - 1])
      return std::optional(found.take());
  }
  return std::optional<HostBytes>();
}

/// Given that the graph of all nodes differs, returns the number of the first
/// node after which a graph differs; 0 if graphs of fewer nodes do not.
Expected<size_t> GraphCheck::firstWrong(Nodes nodes) {
  size_t right = 0, wrong = nodes.size();
  while (wrong - right > 1) {
    const size_t middle = (right + wrong) / 2;
    Expected<std::optional<HostBytes>> other = findOther(nodes.first(middle));
    if (!other)
      return other.status();
    (other->has_value() ? wrong : right) = middle;
  }
  return wrong < nodes.size() ? wrong : 0;
}

Status GraphCheck::checkGraphs(const NamedStep &step, bool dependent) {
  const Nodes nodes = side.bed->executor().inside(step.rows()).nodes;
  DeviceOptions used = options;
  used.dependentLaunch = dependent;
  side.device->use(used);
  CheckJson made = {{"part", "bisect"},      {"model", model.name},
                    {"what", "whole graph"}, {"step", step.name},
                    {"pdl", dependent},      {"runs", graphRuns}};
  Expected<std::optional<HostBytes>> other = findOther(nodes);
  if (!other)
    return other.status();
  made["holds"] = !other->has_value();
  if (other->has_value()) {
    const Difference apart =
        side.memory->compare(**other, states.back(), first);
    made["at"] = side.memory->placeOf(apart.at);
    made["difference"] = jsonOf(apart.largest);
    Expected<size_t> wrong = firstWrong(nodes);
    if (!wrong)
      return wrong.status();
    if (*wrong == 0) {
      made["why"] = "not seen in graphs of fewer nodes";
    } else {
      made["node"] = *wrong;
      made["kernel"] = nodeName(nodes[*wrong - 1]);
      made["operands"] = side.memory->operandsOf(nodes[*wrong - 1]);
    }
  }
  print(made);
  return {};
}

Status GraphCheck::checkStep(const NamedStep &step) {
  // The state after the first node serves as the state before the step: it has
  // the tables of the step, and the first node can run again, since it does not
  // write what it reads.
  Expected<std::vector<HostBytes>> recorded = side.record(step);
  if (!recorded)
    return recorded.status();
  states = recorded.take();
  if (states.empty())
    return failure("the step has no nodes");
  first = states.front();
  for (bool dependent : {false, true})
    if (dependent <= options.dependentLaunch)
      SLUICE_RETURN_IF_ERROR(checkGraphs(step, dependent));
  // The next step finds the memory as this one has left it.
  return side.memory->write(states.back());
}

} // namespace

Status devicecheck::bisectNodes(const LinkedModel &model,
                                const std::shared_ptr<Device> &device,
                                int32_t graphRuns, const Print &print) {
  if (!model.canBeEmulated())
    return failure("model ", model.name,
                   " was linked without the emulator's "
                   "code, which the device is compared "
                   "with");
  const DeviceOptions before = device->options();
  auto compare = [&]() -> Status {
    Expected<std::shared_ptr<Device>> reference = openReference(*device);
    if (!reference)
      return reference.status();
    Expected<Side> theirs =
        Side::make(model.emulated, *reference, /*oneTask=*/true);
    if (!theirs)
      return theirs.status();
    Expected<Side> ours = Side::make(model.image, device, /*oneTask=*/true);
    if (!ours)
      return ours.status();
    return Bisect(model, ours.take(), theirs.take(), print).run();
  };
  auto check = [&]() -> Status {
    Expected<Side> ours = Side::make(model.image, device, before.oneTask);
    if (!ours)
      return ours.status();
    DeviceOptions whole = before;
    whole.oneNode = false;
    return GraphCheck(model, ours.take(), whole, graphRuns, print).run();
  };
  Status status = compare();
  if (status.ok())
    status = check();
  device->use(before);
  return status.withContext(std::string(model.name));
}
