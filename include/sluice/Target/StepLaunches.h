//===- StepLaunches.h - the kernels that a step on a GPU launches ---------===//
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

/// A node of the CUDA graph of a step: one kernel, or one exchange by NCCL.
struct StepLaunch {
  /// The kernel's name on the device, or "exchange".
  std::string node;
  /// The work of the step that the node belongs to, by its weights: "attn_q",
  /// "operand of ffn_down", "attn_q; attn_k". Empty if the kernel's name says
  /// it.
  std::string purpose;
  /// The weights of the products, "ffn_gate+ffn_up" or "attn_q, attn_k". Empty
  /// if the node is no product.
  std::string product;
  /// The bytes of the weights that the node's work reads, as they are laid out
  /// on the device. A weight that is read several times counts once.
  uint64_t weightBytes = 0;
  /// Whether the kernel is generated rather than one of the runtime's.
  bool isGenerated = false;
  /// The number of the model's layer, which `purpose` and `product` leave out.
  /// Empty for a node outside layers.
  std::optional<int64_t> layer;
  /// The number of the first task of the program's plan that the node belongs
  /// to, or the number of tasks for the drawing of tokens. One task may need
  /// several launches, and one launch may compute several tasks.
  size_t work = 0;

  bool operator==(const StepLaunch &) const = default;
};

/// Returns the nodes of the graph that the runtime makes of a program for steps
/// of up to `rows` rows, in their order. The runtime's own code makes them from
/// the program's plan, for a chip with the shared memory of sm_90, a cache of
/// f16, and without --fast-math-batch. `kernels` is a module of phase
/// kernels, `executable` its descriptor, and `program` one of the descriptor's
/// programs, for CUDA. Fails if the runtime would refuse the program.
Expected<std::vector<StepLaunch>>
listLaunches(mlir::ModuleOp kernels, const ExecutableDescriptor &executable,
             const ProgramDescriptor &program, int64_t rows);

} // namespace sluice

#endif // SLUICE_TARGET_STEPLAUNCHES_H
