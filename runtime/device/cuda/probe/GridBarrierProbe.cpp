//===- GridBarrierProbe.cpp - the cost of a barrier over a grid -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbeParts.h"

#include <algorithm>
#include <numeric>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;

namespace {

struct GridBarrierCase {
  int32_t blocksPerMultiprocessor;
  bool exchangesWords;
};

class GridBarrierProbe {
public:
  GridBarrierProbe(const Bench &bench, const GridBarrierCase &made)
      : made(made), lab(bench.device, bench.kernels),
        repeats(bench.isTiny ? 1 : 9) {
    arguments.rounds = bench.isTiny ? 20 : 4000;
    arguments.blocks = made.blocksPerMultiprocessor *
                       bench.device.properties().multiprocessors;
    // One poll of the counter takes half a microsecond or more.
    arguments.spins = bench.isTiny ? 1 << 14 : 1 << 20;
    arguments.counter = reinterpret_cast<uint32_t *>(lab.zeros(4));
    const auto blocks = static_cast<uint64_t>(arguments.blocks);
    if (made.exchangesWords)
      arguments.slots = reinterpret_cast<uint32_t *>(lab.zeros(2 * blocks * 4));
    arguments.passed = reinterpret_cast<int32_t *>(lab.zeros(blocks * 4));
    arguments.wrong =
        reinterpret_cast<int32_t *>(lab.zeros(blocks * gridBarrierThreads * 4));
  }

  Status run(Report &report) {
    const std::vector<GraphNode> nodes = {lab.node(
        "sluice_probe_grid_barrier", {static_cast<uint32_t>(arguments.blocks)},
        gridBarrierThreads, gridBarrierSharedBytes, arguments)};
    lab.run(nodes);
    const Found found = look();
    ProbeJson line = {{"case", name()},
                      {"blocks", arguments.blocks},
                      {"blocksPerMultiprocessor", made.blocksPerMultiprocessor},
                      {"rounds", arguments.rounds},
                      {"exchangesWords", made.exchangesWords},
                      {"blocksThatGaveUp", found.gaveUp},
                      {"wrongWords", found.wrong}};
    // If a block has given up, it has waited for long, and the time means
    // nothing.
    if (found.gaveUp == 0) {
      const Times times = lab.measure(nodes, repeats);
      line["barrierUs"] = times.median / arguments.rounds * 1e6;
      line["barrierLeastUs"] = times.min / arguments.rounds * 1e6;
    }
    if (lab.status().ok())
      report.add(line, found.gaveUp == 0 && found.wrong == 0);
    return lab.status();
  }

private:
  struct Found {
    int64_t gaveUp = 0, wrong = 0;
  };

  std::string name() const {
    return std::to_string(made.blocksPerMultiprocessor) +
           (made.blocksPerMultiprocessor == 1 ? " block" : " blocks") +
           " a multiprocessor" +
           (made.exchangesWords ? ", which hand each other a word" : "");
  }

  /// Checks the results. The counter counts as one of the words.
  Found look() {
    Found found;
    const auto blocks = static_cast<size_t>(arguments.blocks);
    for (int32_t passed : download(arguments.passed, blocks))
      found.gaveUp += passed != arguments.rounds;
    const std::vector<int32_t> wrong =
        download(arguments.wrong, blocks * gridBarrierThreads);
    found.wrong = std::accumulate(wrong.begin(), wrong.end(), int64_t{0});
    const auto all = static_cast<uint32_t>(arguments.rounds) *
                     static_cast<uint32_t>(arguments.blocks);
    found.wrong += download(arguments.counter, 1).front() != all;
    return found;
  }
  template <typename T> std::vector<T> download(const T *from, size_t count) {
    return lab.download<T>(reinterpret_cast<DeviceAddress>(from), count);
  }

  const GridBarrierCase made;
  Lab lab;
  const int repeats;
  GridBarrierArguments arguments = {};
};

} // namespace

Status probe::probeGridBarriers(const Bench &bench, Report &report) {
  for (int32_t blocksPerMultiprocessor : {1, 2})
    for (bool exchangesWords : {false, true}) {
      GridBarrierProbe probe(bench, {blocksPerMultiprocessor, exchangesWords});
      SLUICE_RETURN_IF_ERROR(probe.run(report));
    }
  return {};
}
