//===- Generate.h - generation and scoring of text ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
#define SLUICE_TOOLS_SLUICE_RUN_GENERATE_H

#include "RunSession.h"
#include "runtime/app/TokenStream.h"

namespace sluice::run {

/// Continues the prompt. Writes the text while it is generated (or token ids,
/// if the model has no tokenizer), or one JSON object at the end. Each of
/// several prompts is a request; their texts are written one after the other at
/// the end. Requests share steps if the module's steps are fused. `start` is
/// the time at which the process began.
Status generate(RunSession &session, const RunOptions &options,
                app::StreamClock::time_point start);

/// Writes the probability that the model gives to the prompt's tokens 1 to n-1.
Status score(RunSession &session, const RunOptions &options);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
