//===- StepWork.h - the purpose of each op of a GPU's step ----------------===//
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

/// Describes an op that appends work to a `sluice.graph`. The fields are those
/// of StepLaunch.
struct StepWork {
  std::string purpose;
  std::string product;
  uint64_t weightBytes = 0;
  bool isGenerated = false;
};

/// The weights of a graph's program, in two forms: with the names of the
/// descriptor, and with their layout on the device.
struct WorkWeights {
  const ProgramDescriptor &descriptor;
  const cuda::CudaProgram &program;
};

/// The position of an op in a step.
struct StepPlace {
  int64_t rows; ///< the rows of the step
  std::optional<int64_t> layer;
};

/// Describes an op's work. Names of weights leave out the parts that all
/// weights of a layer share: "attn_q" for "blk.3.attn_q.weight".
StepWork describeWork(mlir::Operation &op, const WorkWeights &weights,
                      const StepPlace &place);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_STEPWORK_H
