//===- RunPipeline.h - a head over the interpreter ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_RUNPIPELINE_H
#define SLUICE_TOOLS_SLUICE_RUN_RUNPIPELINE_H

#include "RunSession.h"
#include "runtime/pipeline/InlinePipeline.h"

namespace sluice::run {

/// Makes a head for `requests` requests, whose steps the interpreter executes.
/// They share steps if the module's steps are fused; otherwise they run one
/// after the other. If the module has a draft, at most 16 requests run at once,
/// and guesses are verified level by level (SpeculationMode::Sync). The session
/// must outlive the result.
Expected<std::unique_ptr<pipeline::InlinePipeline>>
makePipeline(RunSession &session, const RunOptions &options, int64_t requests);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_RUNPIPELINE_H
