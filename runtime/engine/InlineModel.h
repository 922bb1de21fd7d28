//===- InlineModel.h - a model in the caller's thread ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_INLINEMODEL_H
#define SLUICE_RUNTIME_ENGINE_INLINEMODEL_H

#include "runtime/engine/Engine.h"
#include "runtime/pipeline/InlinePipeline.h"

namespace sluice::engine {

/// What a command needs of the model.
struct InlineNeeds {
  int64_t requests = 1;   // at the same time
  int64_t promptRows = 0; // of a step; 0: those of --prefill-chunk
  bool scoresPrompts = false;
  bool keepsLogits = false;                             // as in InlineSetup
  ActivationFormat activations = ActivationFormat::F32; // between stages
};

/// Loads the engine's model, which may take long, for requests that are
/// computed in the caller's thread. The engine must outlive the result. Errors:
/// those of Engine::load().
Expected<std::unique_ptr<pipeline::InlinePipeline>>
loadInline(Engine &engine, const InlineNeeds &needs);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_INLINEMODEL_H
