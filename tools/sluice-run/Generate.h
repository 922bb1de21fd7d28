//===- Generate.h - from prompts to text or a score -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
#define SLUICE_TOOLS_SLUICE_RUN_GENERATE_H

#include "RunRequest.h"

namespace sluice::run {

/// Continues the prompt and writes the text as it comes (the ids, where the
/// model has no tokenizer), or one JSON object at the end. Several prompts are
/// as many requests, whose texts are written one after the other at the end.
/// They share steps where the module's steps are fused; else each has its own.
/// `start` is when the process began.
Status generate(RunSession &session, const RunOptions &options,
                RunClock::time_point start);

/// Writes how probable the model finds the prompt's tokens 1 to n-1.
Status score(RunSession &session, const RunOptions &options);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
