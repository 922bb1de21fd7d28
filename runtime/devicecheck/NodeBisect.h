//===- NodeBisect.h - the first kernel of a step that is wrong ------------===//
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
/// compares the memory of both behind each node. What the emulator has found is
/// then put into the device's memory, so that each node is judged by itself:
///
/// The weights, which the device has made, first:
///
///   {"part": "bisect", "model": ..., "what": "weights", "bytes": n,
///    "holds": bool, "at": "weight blk.0.attn_q.weight + 64"}
///
///   {"part": "bisect", "model": ..., "step": "prompt", "what": "nodes",
///    "nodes": n, "equalBits": how many have them, "largest": difference,
///    "kernel": that has it, "holds": bool}
///
/// and for a node that is wrong, the first of each step:
///
///   {..., "what": "node", "node": 3, "kernel": ..., "at": "values + 4096",
///    "operands": ..., "difference": ..., "holds": false}
///
/// Kernels whose sums the tensor units round differ from the emulator within a
/// limit, all others not by a bit. Then, on the device alone, the whole graph
/// runs `graphRuns` times with dependent launch off and on (as far as the
/// device's options allow that), since kernels that meet by chance do not do so
/// every time: what it leaves must be what the nodes by themselves
/// have left. Where it is not, graphs of the first nodes say which node of the
/// step is the first to see it, if these differ as well:
///
///   {..., "what": "whole graph", "pdl": bool, "runs": n, "holds": bool,
///    "at": ..., "difference": ..., "node": ..., "kernel": ...,
///    "operands": ...}
///
/// Errors: the device's, with the kernel's name (of a whole graph with
/// DeviceOptions::marks alone, which are then behind its kernels); the model
/// has no code for the emulator. Wrong nodes are lines, and no error.
Status bisectNodes(const LinkedModel &model,
                   const std::shared_ptr<cuda::Device> &device,
                   int32_t graphRuns, const Print &print);

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_NODEBISECT_H
