//===- ModelChain.h - the stages of a model as one program ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_MODELCHAIN_H
#define SLUICE_RUNTIME_ENGINE_MODELCHAIN_H

#include "runtime/engine/LocalStage.h"

#include <vector>

namespace sluice::engine {

/// Makes the executor of a whole model: a step passes through all stages in
/// this process, one after the other, before the next step starts. With several
/// stages, rows travel between them in the format `activations`, and steps have
/// no checkpoints. Errors: stages that do not follow each other, those of
/// planning or making their executors.
Expected<std::unique_ptr<device::StepExecutor>>
makeModelChain(const std::vector<LocalStage> &stages,
               const device::StepLimits &limits,
               ActivationFormat activations = ActivationFormat::F32);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_MODELCHAIN_H
