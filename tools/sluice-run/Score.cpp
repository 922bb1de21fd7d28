//===- Score.cpp - the probability of a text ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "RunPipeline.h"
#include "runtime/app/Score.h"
#include "runtime/base/StandardOutput.h"

using namespace sluice;
using namespace sluice::run;

Status sluice::run::score(RunSession &session, const RunOptions &options) {
  Expected<std::vector<int32_t>> tokens = session.readPrompt(options, 0);
  if (!tokens)
    return tokens.status();
  if (tokens->size() < 2)
    return failure("scoring needs at least two tokens");
  Expected<std::unique_ptr<pipeline::InlinePipeline>> model =
      makePipeline(session, options, /*requests=*/1);
  if (!model)
    return model.status();
  Expected<app::Score> score = app::scoreTokens(**model, *tokens);
  if (!score)
    return score.status();
  return writeOutput(options.json ? app::toJson(*score, *tokens)
                                  : app::summary(*score));
}
