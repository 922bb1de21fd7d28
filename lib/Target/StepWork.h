//===- StepWork.h - what the ops of a step are for ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_STEPWORK_H
#define SLUICE_LIB_TARGET_STEPWORK_H

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/program/ProgramDescriptor.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include <optional>
#include <string>

namespace sluice {

/// What a reader wants to know of an op that appends work to a `sluice.graph`,
/// beside its launches. The fields are StepLaunch's.
struct StepWork {
  std::string purpose;
  std::string product;
  uint64_t weightBytes = 0;
  bool isGenerated = false;
};

/// A program with the weights of a graph, twice: as the descriptor names them
/// and as they lie on the device.
struct WorkWeights {
  const ProgramDescriptor &descriptor;
  const cuda::CudaProgram &program;
};

/// Where in a step an op is.
struct StepPlace {
  int64_t rows; ///< of the step
  std::optional<int64_t> layer;
};

/// Weights are named without what all of the layer share: "attn_q" for
/// "blk.3.attn_q.weight".
StepWork describeWork(mlir::Operation &op, const WorkWeights &weights,
                      const StepPlace &place);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_STEPWORK_H
