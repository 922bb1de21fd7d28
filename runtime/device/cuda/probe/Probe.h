//===- Probe.h - measures what only a GPU can show ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short measurements that decide how the kernels should be written: the cost of
// a launch, the speed at which instructions read memory, the cost of a barrier
// over the whole device, and whether the two kinds of matrix products give the
// same bits. Each result is one line, a JSON object:
//
//   part    "probe: chain", "probe: stream", "probe: grid barrier", "probe:
//           wgmma"
//   case    what was measured, in words
//   holds   whether the kernels have computed correct results
//   notRun  instead of holds: the reason why this device cannot show it
//   why     if holds is false: the error with which the part has ended
//
// Times that end in Us (microseconds) are medians of several measurements;
// those that end in LeastUs are the minima. Rates use the median. A graph's
// time is measured on the host and includes its launch and the notice of its
// end, some 10 us.
//
// probe: chain. A graph of kernels, each of which waits for the one before:
//   kernels, blocks, blocksOfEveryOther, sharedBytesOfEveryOther
//   dependentLaunch   edges are programmatic: a kernel may start before the one
//                     before it has ended (DeviceOptions::dependentLaunch)
//   largestCarveout   DeviceOptions::largestCarveout
//   kernelUs, kernelLeastUs   the graph's time divided by its kernels
//   wrongWords        in the rows that each kernel increments
//
// probe: stream. One kernel reads memory once:
//   method, pieceBytes, stages, bytesInFlightOfBlock
//   blocksPerMultiprocessor   blocks that take pieces in turns, all resident; 0
//                     if each block has bytesOfBlock contiguous bytes
//   blocks, bytesOfBlock, bytes
//   launchUs, launchLeastUs, gigabytesPerSecond
//
// probe: grid barrier. All blocks add to a counter and wait for it:
//   blocks, blocksPerMultiprocessor, rounds
//   exchangesWords    whether blocks also exchange words across the barrier
//   barrierUs, barrierLeastUs
//   blocksThatGaveUp, wrongWords
//
// probe: wgmma. D = A B with 64 x 8 results. Some factors have mixed
// magnitudes, and part of these cancel out; others are small integers:
//
//   factors, steps    products of 16 features, one after the other
//   instruction       mma.sync, or wgmma with A in registers or in shared
//                     memory (shared)
//   integersAreExact  whether the products of integers are exact
//   elements          results that the following counts refer to
//   movedUnequal      results whose bits change when the rows of A and the
//                     columns of B are reordered
//   companyUnequal    results whose bits change when other rows and columns
//                     change
//   unequalToMma      results whose bits are not those of mma.sync; this is a
//                     finding and does not affect `holds`
//   largestDifference   the largest difference of these
//   largestShareOfTerms  the largest difference over the sum of the magnitudes
//                     of its element's products
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBE_H

#include "runtime/device/cuda/KernelLibrary.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace sluice::cuda::probe {

struct ProbeOptions {
  /// Reduces the work, for the emulator, whose times mean nothing.
  bool tiny = false;
};

using PrintLine = std::function<void(const nlohmann::ordered_json &)>;

/// Runs all parts, which takes some seconds on a GPU. `print` gets each line as
/// soon as it is made. The kernels, which are for sm_90a, are added to
/// `kernels`. Changes no setting of the device but its options, and restores
/// those. Errors: those of the device, which end the probe; at the end, lines
/// that do not hold.
Status runProbe(Device &device, KernelLibrary &kernels,
                const ProbeOptions &options, const PrintLine &print);

/// Makes the kernels available to emulated devices that are opened from now on.
void emulateProbe();

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBE_H
