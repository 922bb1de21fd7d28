//===- ScoreCommand.cpp - the command `score` -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/CommandPrompt.h"
#include "runtime/app/Commands.h"
#include "runtime/app/InlineModel.h"
#include "runtime/app/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/pipeline/TokenQueue.h"
#include "runtime/text/JsonWriter.h"

#include <cmath>
#include <cstdio>

using namespace sluice;
using namespace sluice::app;

using pipeline::TokenItem;

namespace {

// Every row here has logits of the whole vocabulary, so steps are shorter than
// those of a prompt: with 128,000 tokens, this is 33 MB.
constexpr int64_t maxRows = 64;

struct Score {
  std::vector<double> logProbabilities; // of tokens 1..n-1
  double meanNll = 0;

  double perplexity() const { return std::exp(meanNll); }
};

/// Computes each token's probability given those before it (teacher forcing).
/// If the user interrupts it, the error is "interrupted".
Expected<Score> scoreTokens(pipeline::InlinePipeline &model,
                            std::span<const int32_t> tokens) {
  RequestSpec spec;
  spec.prompt.assign(tokens.begin(), tokens.end());
  spec.maxTokens = 0;
  spec.logProbabilities = 0;
  spec.scoresPrompt = true;
  auto queue = std::make_shared<pipeline::TokenQueue>();
  model.head().submit({.spec = std::move(spec)}, queue);
  Score score;
  double sum = 0;
  while (true) {
    std::optional<TokenItem> item = queue->poll();
    if (!item) {
      if (interrupted())
        return failure("interrupted");
      model.turn();
      continue;
    }
    if (item->kind == TokenItem::Kind::Token) {
      score.logProbabilities.push_back(item->report.front().logProbability);
      sum -= score.logProbabilities.back();
      continue;
    }
    if (!item->failure.ok())
      return item->failure;
    score.meanNll = sum / double(tokens.size() - 1);
    return score;
  }
}

std::string toJson(const Score &score, std::span<const int32_t> tokens) {
  text::JsonWriter json;
  json.beginObject();
  json.key("tokens").number(int64_t(tokens.size()));
  json.key("perplexity").number(score.perplexity());
  json.key("nll").number(score.meanNll);
  json.key("token_logprobs").beginArray();
  json.null(); // the first token has no token before it
  for (double value : score.logProbabilities)
    json.number(value);
  json.endArray();
  json.key("token_ids").beginArray();
  for (int32_t token : tokens)
    json.number(int64_t(token));
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}

std::string summary(const Score &score, size_t tokens) {
  char line[160];
  std::snprintf(line, sizeof(line),
                "%zu tokens: perplexity %.4f, mean negative log-likelihood "
                "%.5f\n",
                tokens, score.perplexity(), score.meanNll);
  return line;
}

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
  SLUICE_RETURN_IF_ERROR(writeOutput(options.json
                                         ? toJson(*score, *tokens)
                                         : summary(*score, tokens->size())));
  return 0;
}
