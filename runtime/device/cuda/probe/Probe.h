//===- Probe.h - what only a GPU can show, in seconds ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small measurements that decide how the kernels are to be written: what a
// launch costs, how fast memory is read by which instructions, what a barrier
// over the whole device takes, and whether the two kinds of matrix products
// have the same bits. Each result is a line, a JSON object:
//
//   part    "probe: chain", "probe: stream", "probe: grid barrier", "probe:
//           wgmma"
//   case    what was measured, in words
//   holds   whether what the kernels have computed is right
//   notRun  instead: why this device cannot show it
//   why     instead, with holds: the error with which the part has ended
//
// Times end in Us (microseconds) and are the median of several; those that end
// in LeastUs are the least of them. Rates are by the median. A graph's time is
// the host's: its launch and the notice of its end, some 10 us, are in it.
//
// probe: chain. A graph of kernels that wait for each other:
//   kernels, blocks, blocksOfEveryOther, sharedBytesOfEveryOther
//   dependentLaunch   edges are programmatic: a kernel may start before the one
//                     before it has ended (DeviceOptions::dependentLaunch)
//   largestCarveout   DeviceOptions::largestCarveout
//   kernelUs, kernelLeastUs   the graph's time over its kernels
//   wrongWords        of rows that each kernel has counted up
//
// probe: stream. Memory that is read once, by one kernel:
//   method, pieceBytes, stages, bytesInFlightOfBlock
//   blocksPerMultiprocessor   of blocks that take pieces by turns, all of them
//                     resident; 0: each block has bytesOfBlock side by side
//   blocks, bytesOfBlock, bytes
//   launchUs, launchLeastUs, gigabytesPerSecond
//
// probe: grid barrier. A counter that all blocks add to and wait for:
//   blocks, blocksPerMultiprocessor, rounds
//   exchangesWords    each block also hands a word to others across it
//   barrierUs, barrierLeastUs
//   blocksThatGaveUp, wrongWords
//
// probe: wgmma. D = A B of 64 x 8 results, of factors of mixed size, part of
// which cancel out, and of small integers:
//   factors, steps    products of 16 features one behind the other
//   instruction       mma.sync, or wgmma with A in registers or in memory
//                     (shared)
//   integersAreExact  whether the products of integers are
//   elements          results that the following counts are of
//   movedUnequal      whose bits change when the rows of A and the columns of
//                     B are put into another order
//   companyUnequal    whose bits change when other rows and columns change
//   unequalToMma      whose bits are not mma.sync's, which is a finding: it
//                     does not keep `holds` from being true
//   largestDifference of these: the largest
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
  /// Little work, for the emulator, whose times mean nothing.
  bool tiny = false;
};

using PrintLine = std::function<void(const nlohmann::ordered_json &)>;

/// Runs all parts, some seconds on a GPU; `print` gets each line when it is
/// made. The kernels, which are for sm_90a, are added to `kernels`. Changes no
/// setting of the device but its options, and those only until it returns.
/// Errors: the device's, which ends the probe; at the end, lines that do not
/// hold.
Status runProbe(Device &device, KernelLibrary &kernels,
                const ProbeOptions &options, const PrintLine &print);

/// Gives the kernels to emulated devices that are opened from now on.
void emulateProbe();

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBE_H
