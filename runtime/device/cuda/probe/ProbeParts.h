//===- ProbeParts.h - the parts of the probe ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPARTS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPARTS_H

#include "runtime/device/cuda/bench/Lab.h"
#include "runtime/device/cuda/probe/Probe.h"

#include <utility>

namespace sluice::cuda::probe {

using ProbeJson = nlohmann::ordered_json;
using bench::Lab;
using bench::Times;

/// Prints and counts the lines of one part.
class Report {
public:
  Report(const char *part, const PrintLine &print) : part(part), print(print) {}

  /// Prints a result, with the part's name before it.
  void add(const ProbeJson &fields, bool holds) {
    ProbeJson line = {{"part", part}};
    line.update(fields);
    line["holds"] = holds;
    print(line);
    ++lines;
    if (!holds && wrong++ == 0)
      firstWrong = fields.value("case", "");
  }

  int lines = 0, wrong = 0;
  std::string firstWrong; ///< the case of the first wrong line

private:
  const char *part;
  const PrintLine &print;
};

/// The device and the settings for all parts.
struct Bench {
  Device &device;
  KernelLibrary &kernels;
  bool isTiny;
};

/// Each runs one part and returns the device's error. They leave the device's
/// options unchanged.
Status probeChains(const Bench &bench, Report &report);
Status probeStreams(const Bench &bench, Report &report);
Status probeGridBarriers(const Bench &bench, Report &report);
Status probeWgmma(const Bench &bench, Report &report);

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPARTS_H
