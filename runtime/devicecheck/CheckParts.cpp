//===- CheckParts.cpp - the checks of a device ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/CheckParts.h"

#include "runtime/device/cuda/bench/KernelBench.h"
#include "runtime/device/cuda/bench/Lab.h"
#include "runtime/device/cuda/kernels/MarkABI.h"
#include "runtime/device/cuda/probe/Probe.h"
#include "runtime/device/cuda/test/bed/KernelCases.h"
#include "runtime/devicecheck/Figures.h"
#include "runtime/devicecheck/NodeBisect.h"

using namespace sluice;
using namespace sluice::devicecheck;
using namespace sluice::cuda;

namespace {

/// Prints name, chip and memory. Launches nothing.
Status describe(const PartInput &input, const Print &print) {
  const DeviceProperties &known = input.device->properties();
  Expected<MemoryState> memory = input.device->memory();
  if (!memory)
    return memory.status();
  print({{"part", "device"},
         {"name", known.name},
         {"capability",
          std::to_string(known.major) + "." + std::to_string(known.minor)},
         {"multiprocessors", known.multiprocessors},
         {"sharedBytes", known.sharedBytes},
         {"memoryBytes", known.memoryBytes},
         {"freeBytes", memory->freeBytes}});
  return {};
}

/// Runs a graph of three empty kernels, which shows whether code loads, graphs
/// are made and a launch ends.
Status runEmptyKernels(const PartInput &input, const Print &print) {
  Expected<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(*input.device, {});
  if (!kernels)
    return kernels.status();
  cuda::bench::Lab lab(*input.device, **kernels);
  const GraphNode node =
      lab.node(markKernel, {}, markThreads, 0, MarkArguments{nullptr, 0});
  const std::vector<GraphNode> three(3, node);
  const double seconds = lab.timeOnce(three);
  const double again = lab.timeOnce(three);
  if (lab.status().ok())
    print({{"part", "empty"},
           {"kernels", three.size()},
           {"firstUs", seconds * 1e6},
           {"us", again * 1e6}});
  return lab.status();
}

Status runBenchOf(std::string_view name, const PartInput &input,
                  const Print &print) {
  Expected<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(*input.device, {});
  if (!kernels)
    return kernels.status();
  return cuda::bench::runKernelBench(name, *input.device, **kernels,
                                     input.isTiny, print);
}

/// Runs the bench with the part's own name.
Status runBench(const PartInput &input, const Print &print) {
  return runBenchOf(input.part, input, print);
}

/// Prints what is known of the device, whether it runs anything, and how fast
/// it copies.
Status describeDevice(const PartInput &input, const Print &print) {
  SLUICE_RETURN_IF_ERROR(describe(input, print));
  SLUICE_RETURN_IF_ERROR(runEmptyKernels(input, print));
  return runBenchOf("copy", input, print);
}

Status probeChip(const PartInput &input, const Print &print) {
  Expected<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(*input.device, {});
  if (!kernels)
    return kernels.status();
  probe::ProbeOptions options;
  options.tiny = input.isTiny;
  return probe::runProbe(*input.device, **kernels, options, print);
}

/// Runs the kernel cases, which print their lines themselves (KernelCases.h).
Status checkCases(const PartInput &input, const Print &) {
  std::string name = "cases";
  std::vector<char *> arguments = {name.data()};
  arguments.insert(arguments.end(), input.rest.begin(), input.rest.end());
  const int status = runKernelCases(static_cast<int>(arguments.size()),
                                    arguments.data(), *input.device);
  return status == 0 ? Status() : failure("kernel cases do not hold");
}

Status bisect(const PartInput &input, const Print &print) {
  return bisectNodes(*input.model, input.device, input.isTiny ? 2 : 20, print);
}

Status figures(const PartInput &input, const Print &print) {
  return measureFigures(*input.model, input.device,
                        input.isTiny ? FigureSizes::tiny() : FigureSizes(),
                        print);
}

constexpr Part all[] = {
    {"device", "what it is, three empty kernels, and the rate of a copy", false,
     describeDevice},
    {"probe", "latencies and rates that decide about kernels", false,
     probeChip},
    {"cases", "the tests of all kernels, against the emulator", false,
     checkCases},
    {"bisect", "a model's steps node by node, against the emulator", true,
     bisect},
    {"figures", "how long a model's steps take", true, figures},
    {"linear", "products of few rows", false, runBench},
    {"prompt", "products of prompts", false, runBench},
    {"attend", "attention", false, runBench},
    {"compact", "rows that leave", false, runBench},
};

} // namespace

std::span<const Part> devicecheck::parts() { return all; }
