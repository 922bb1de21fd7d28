//===- ChainProbe.cpp - the cost of a kernel after a kernel ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels like the small ones of a step, in graphs of many, with and
// without dependent launch and the largest carve-out. Every other kernel may be
// wide, with a block on each multiprocessor, and may have as much shared memory
// as a product. The difference between wide kernels with and without that
// memory is the cost of changing the carve-out.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/MarkABI.h"
#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbeParts.h"

#include <algorithm>
#include <array>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;

namespace {

/// The shared memory of a product's block (linearStageBytes of a step of few
/// rows).
constexpr int32_t productSharedBytes = 74 << 10;

struct Chain {
  const char *name;
  bool hasRows; ///< whether kernels increment rows; if not, they are empty
  bool hasWide; ///< whether every other kernel is wide
  int32_t sharedBytes = 0; ///< of the wide kernels
};
constexpr Chain chains[] = {
    {"empty kernels", false, false},
    {"empty kernels, every other one on all multiprocessors", false, true},
    {"empty kernels, every other one on all multiprocessors with 74 KiB of "
     "shared memory",
     false, true, productSharedBytes},
    {"kernels of a row of 16 KiB", true, false},
    {"kernels of a row of 16 KiB, every other one with a row on each "
     "multiprocessor",
     true, true},
    {"kernels of a row of 16 KiB, every other one with a row on each "
     "multiprocessor and 74 KiB of shared memory",
     true, true, productSharedBytes}};

/// Uses the device with other options, and restores them at the end.
class Using {
public:
  Using(Device &device, bool dependentLaunch, bool largestCarveout)
      : device(device), before(device.options()) {
    DeviceOptions options = before;
    options.dependentLaunch = dependentLaunch;
    options.largestCarveout = largestCarveout;
    device.use(options);
  }
  ~Using() { device.use(before); }
  Using(const Using &) = delete;
  Using &operator=(const Using &) = delete;

private:
  Device &device;
  DeviceOptions before;
};

class ChainProbe {
public:
  ChainProbe(const Bench &bench, const Chain &chain)
      : chain(chain), lab(bench.device, bench.kernels),
        wide(bench.device.properties().multiprocessors),
        kernels(bench.isTiny ? 20 : 1000) {
    const int32_t count = wide;
    arguments.rowCount = reinterpret_cast<const int32_t *>(
        lab.upload(std::span<const int32_t>(&count, 1)));
    arguments.rows = reinterpret_cast<float *>(lab.zeros(bytes()));
    for (int32_t i = 0; i < kernels; ++i)
      nodes.push_back(chain.hasWide && i % 2 == 0 ? wideKernel()
                                                  : smallKernel());
  }

  /// Runs and reports the chain. Returns the device's error.
  Status run(const DeviceOptions &options, int repeats, Report &report) {
    lab.run(nodes);
    const int64_t wrong = chain.hasRows ? countWrong() : 0;
    const Times times = lab.measure(nodes, repeats);
    if (!lab.status().ok())
      return lab.status();
    const double scale = 1e6 / kernels;
    report.add({{"case", nameOf(options)},
                {"kernels", kernels},
                {"blocks", 1},
                {"blocksOfEveryOther", chain.hasWide ? wide : 1},
                {"sharedBytesOfEveryOther", chain.sharedBytes},
                {"dependentLaunch", options.dependentLaunch},
                {"largestCarveout", options.largestCarveout},
                {"kernelUs", times.median * scale},
                {"kernelLeastUs", times.min * scale},
                {"wrongWords", wrong}},
               wrong == 0);
    return {};
  }

private:
  std::string nameOf(const DeviceOptions &options) const {
    return std::string(chain.name) +
           (options.dependentLaunch ? "; dependent launch" : "; plain edges") +
           (options.largestCarveout ? ", largest carve-out"
                                    : ", default carve-out");
  }

  uint64_t bytes() const { return static_cast<uint64_t>(wide) * rowBytes; }

  KernelNode smallKernel() {
    if (!chain.hasRows)
      return lab.node(markKernel, {}, markThreads, 0, MarkArguments{});
    RowArguments small = arguments;
    return lab.node("sluice_probe_row", {}, rowThreads, 0, small);
  }
  KernelNode wideKernel() {
    RowArguments all = arguments;
    all.sharedBytes = chain.sharedBytes;
    return lab.node(
        chain.hasRows ? "sluice_probe_wide_row" : "sluice_probe_empty",
        {static_cast<uint32_t>(wide)}, rowThreads, chain.sharedBytes, all);
  }

  /// Counts the words that differ from the number of kernels that have
  /// incremented their row.
  int64_t countWrong() {
    const std::vector<float> rows = lab.download<float>(
        reinterpret_cast<DeviceAddress>(arguments.rows), bytes() / 4);
    int64_t wrong = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int32_t ofWide = chain.hasWide ? kernels / 2 : 0;
      const int32_t expected = i < rowFloats ? kernels : ofWide;
      wrong += rows[i] != static_cast<float>(expected);
    }
    return wrong;
  }

  const Chain &chain;
  Lab lab;
  const int32_t wide;    ///< blocks of a wide kernel
  const int32_t kernels; ///< an even number
  RowArguments arguments = {};
  std::vector<GraphNode> nodes;
};

} // namespace

Status probe::probeChains(const Bench &bench, Report &report) {
  for (const Chain &chain : chains)
    for (bool dependentLaunch : {false, true})
      for (bool largestCarveout : {false, true}) {
        Using options(bench.device, dependentLaunch, largestCarveout);
        ChainProbe probe(bench, chain);
        SLUICE_RETURN_IF_ERROR(
            probe.run(bench.device.options(), bench.isTiny ? 1 : 9, report));
      }
  return {};
}
