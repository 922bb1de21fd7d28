//===- ScoreCommand.cpp - the command `score` -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/CommandPrompt.h"
#include "runtime/app/Commands.h"
#include "runtime/app/Score.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/engine/InlineModel.h"

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

// Every row here has logits of the whole vocabulary, so steps are shorter than
// those of a prompt: with 128,000 tokens, this is 33 MB.
constexpr int64_t maxRows = 64;

} // namespace

Expected<int> app::runScore(const ProgramImage &image,
                            const ScoreOptions &options) {
  Expected<std::unique_ptr<Engine>> engine =
      Engine::create(image, options.engine);
  if (!engine)
    return engine.status();
  SLUICE_RETURN_IF_ERROR((*engine)->checkOptions());
  Expected<std::vector<int32_t>> tokens =
      readPrompt(options.prompt, **engine, /*addSpecial=*/false);
  if (!tokens)
    return tokens.status();
  if (tokens->size() < 2)
    return failure("score: one token has no probability; give at least two");
  Expected<std::unique_ptr<pipeline::InlinePipeline>> model =
      loadInline(**engine, {.promptRows = maxRows, .scoresPrompts = true});
  if (!model)
    return model.status();
  Expected<Score> score = scoreTokens(**model, *tokens);
  if (!score)
    return score.status();
  SLUICE_RETURN_IF_ERROR(
      writeOutput(options.json ? toJson(*score, *tokens) : summary(*score)));
  return 0;
}
