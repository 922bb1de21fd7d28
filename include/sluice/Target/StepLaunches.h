//===- StepLaunches.h - what a step on a GPU launches ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_STEPLAUNCHES_H
#define SLUICE_TARGET_STEPLAUNCHES_H

#include "runtime/base/Status.h"
#include "runtime/program/ExecutableDescriptor.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// A node of the CUDA graph of a step: one kernel, or what NCCL does at once.
struct StepLaunch {
  /// The kernel's name on the device, or "exchange".
  std::string node;
  /// Which work of the step it is for, and of which weights; empty where the
  /// kernel's name says it: "attn_q", "operand of ffn_down".
  std::string purpose;
  /// The product's weights, "ffn_gate+ffn_up"; empty: it is no product.
  std::string product;
  /// Of weights, that it reads once or more, as they lie on the device.
  uint64_t weightBytes = 0;
  bool isGenerated = false; ///< and not one of the runtime's kernels
  /// The model's layer, whose number names of weights no longer have; none
  /// before, behind and between layers.
  std::optional<int64_t> layer;
  /// The number of the work among that of the step. One op of the IR may be
  /// several launches, and so is the drawing of tokens, which is the last.
  size_t work = 0;

  bool operator==(const StepLaunch &) const = default;
};

/// The nodes of the graph that the runtime makes of a program for steps of up
/// to `rows` rows, in their order. They are those of the runtime's own code,
/// which is given the program's `sluice.graph`: on a chip with the shared
/// memory of sm_90, a cache of f16, and without --fast-math-batch. `kernels`:
/// a module of phase kernels; `executable`: its descriptor, of which `program`,
/// for Cuda, is one. Errors: a program that the runtime would refuse.
Expected<std::vector<StepLaunch>>
listLaunches(mlir::ModuleOp kernels, const ExecutableDescriptor &executable,
             const ProgramDescriptor &program, int64_t rows);

} // namespace sluice

#endif // SLUICE_TARGET_STEPLAUNCHES_H
