//===- NodeBisect.h - finds the first wrong kernel of a step --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_NODEBISECT_H
#define SLUICE_RUNTIME_DEVICECHECK_NODEBISECT_H

#include "runtime/devicecheck/CheckReport.h"
#include "runtime/devicecheck/LinkedModels.h"

#include <memory>

namespace sluice::devicecheck {

/// Runs steps of a model on the device and in the emulator, node by node, and
/// compares the memory of both after each node. The device's memory is then
/// overwritten with the emulator's, so that each node is judged by itself.
///
/// The first line is for the weights, which the device has made:
///
///   {"part": "bisect", "model": ..., "what": "weights", "bytes": n,
///    "holds": bool, "at": "weight blk.0.attn_q.weight + 64"}
///
///   {"part": "bisect", "model": ..., "step": "prompt", "what": "nodes",
///    "nodes": n, "equalBits": how many have them, "largest": difference,
///    "kernel": that has it, "holds": bool}
///
/// and one for the first wrong node of each step:
///
///   {..., "what": "node", "node": 3, "kernel": ..., "at": "values + 4096",
///    "operands": ..., "difference": ..., "holds": false}
///
/// Kernels whose sums the tensor units round may differ from the emulator
/// within a limit; all others must have the same bits. Then the whole graph
/// runs on the device alone, `graphRuns` times with dependent launch off and on
/// (as far as the device's options allow that), since a race between kernels
/// does not show in every run. The result must be that of the single nodes. If
/// it is not, graphs of the first nodes tell which node of the step is the
/// first to see the difference, if such graphs differ as well:
///
///   {..., "what": "whole graph", "pdl": bool, "runs": n, "holds": bool,
///    "at": ..., "difference": ..., "node": ..., "kernel": ...,
///    "operands": ...}
///
/// Errors: those of the device, with the kernel's name (for a whole graph only
/// with DeviceOptions::marks, whose marks are then after its kernels); the
/// model has no code for the emulator. Wrong nodes are reported as lines, not
/// as errors.
Status bisectNodes(const LinkedModel &model,
                   const std::shared_ptr<cuda::Device> &device,
                   int32_t graphRuns, const Print &print);

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_NODEBISECT_H
