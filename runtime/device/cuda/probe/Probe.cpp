//===- Probe.cpp - measures what only a GPU can show ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/Probe.h"

#include "runtime/device/cuda/emulator/EmulatedKernels.h"
#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbeImages.h"
#include "runtime/device/cuda/probe/ProbeKernels.h"
#include "runtime/device/cuda/probe/ProbeParts.h"

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::cuda::probe;

namespace {

struct Part {
  const char *name;
  Status (*run)(const Bench &bench, Report &report);
};

/// In the order of what may go wrong: once a part has broken the device, the
/// later parts cannot show anything.
constexpr Part parts[] = {{"probe: chain", probeChains},
                          {"probe: grid barrier", probeGridBarriers},
                          {"probe: stream", probeStreams},
                          {"probe: wgmma", probeWgmma}};

/// Returns why the kernels cannot run on the device; empty if they can.
std::string reasonNotToRun(const DeviceProperties &device) {
  // Code for sm_90a runs only on that chip, not on later ones.
  if (device.major == 9 && device.minor == 0)
    return "";
  return "not run: the probe's kernels are for sm_90a, this device is sm_" +
         std::to_string(10 * device.major + device.minor);
}

/// Does work before the first measurement, a quarter of a second on a GPU,
/// since its clocks rise under load.
Status warmUp(const Bench &bench) {
  Lab lab(bench.device, bench.kernels);
  const uint64_t bytes = uint64_t{bench.isTiny ? 64u : 256u << 10} << 10;
  const FillArguments fill = {reinterpret_cast<uint32_t *>(lab.allocate(bytes)),
                              static_cast<int64_t>(bytes / 4)};
  const auto blocks =
      static_cast<uint32_t>(8 * bench.device.properties().multiprocessors);
  const std::vector<GraphNode> nodes(
      bench.isTiny ? 1 : 500,
      lab.node("sluice_probe_fill", {blocks}, fillThreads, 0, fill));
  (void)lab.measure(nodes, 4);
  return lab.status();
}

/// Runs a part. Adds a text to `wrong` if some of the part's lines do not hold.
Status runPart(const Part &part, const Bench &bench, const PrintLine &print,
               std::string &wrong) {
  Report report(part.name, print);
  if (Status s = part.run(bench, report); !s.ok()) {
    report.add({{"why", s.message()}}, false);
    return s.withContext(part.name);
  }
  if (report.wrong > 0)
    wrong += (wrong.empty() ? "" : "; ") + std::string(part.name) + ": " +
             std::to_string(report.wrong) + " of " +
             std::to_string(report.lines) + " lines do not hold (" +
             report.firstWrong + ")";
  return {};
}

} // namespace

Status probe::runProbe(Device &device, KernelLibrary &kernels,
                       const ProbeOptions &options, const PrintLine &print) {
  if (const std::string reason = reasonNotToRun(device.properties());
      !reason.empty()) {
    for (const Part &part : parts)
      print({{"part", part.name}, {"notRun", reason}});
    return {};
  }
  for (const KernelImage &image : probeImages())
    if (Status s = kernels.add(image.bytes); !s.ok())
      return s.withContext("the probe's kernels");
  const Bench bench = {device, kernels, options.tiny};
  if (Status s = warmUp(bench); !s.ok())
    return s.withContext("the probe");
  std::string wrong;
  for (const Part &part : parts)
    SLUICE_RETURN_IF_ERROR(runPart(part, bench, print, wrong));
  return wrong.empty() ? Status() : Status::error(wrong);
}

void probe::emulateProbe() {
#define SLUICE_PROBE_LINE(name, Arguments, threads)                            \
  {"sluice_probe_" #name,                                                      \
   emulator::callKernel<Arguments, sluice_probe_##name>,                       \
   std::string_view(#name) == "grid_barrier"},
  static const emulator::TestKernel kernels[] = {
      SLUICE_FOR_EACH_PROBE_KERNEL(SLUICE_PROBE_LINE)};
  emulator::addTestKernels(kernels);
}
