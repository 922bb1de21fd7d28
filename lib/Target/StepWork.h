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

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Describes a task of a step on a GPU. The fields are those of StepLaunch.
struct StepWork {
  std::string purpose;
  std::string product;
  uint64_t weightBytes = 0;
  bool isGenerated = false;
};

/// A GPU's program in two forms: with the names of the descriptor, and with the
/// weights' layout on the device.
struct WorkWeights {
  const ProgramDescriptor &descriptor;
  const cuda::CudaProgram &program;
};

/// The position of a task in a step.
struct StepPlace {
  int64_t rows; ///< the rows of the step
  size_t task;  ///< the task's number in the program's plan
  std::optional<int64_t> layer;
};

/// Describes a task's work. Names of weights leave out the parts that all
/// weights of a layer share: "attn_q" for "blk.3.attn_q.weight".
StepWork describeWork(const WorkWeights &weights, const StepPlace &place);

/// Describes the work of tasks that share a launch.
StepWork joinWorks(const std::vector<StepWork> &works);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_STEPWORK_H
