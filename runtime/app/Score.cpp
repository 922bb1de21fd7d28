//===- Score.cpp - how probable a model finds a text ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Score.h"

#include "runtime/app/GenerationJson.h"
#include "runtime/base/Interrupt.h"
#include "runtime/pipeline/TokenQueue.h"

#include <cmath>
#include <cstdio>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

double Score::perplexity() const { return std::exp(meanNll); }

Expected<Score> app::scoreTokens(pipeline::InlinePipeline &model,
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
    std::optional<pipeline::RequestEvent> event = queue->poll();
    if (!event) {
      if (interrupted())
        return failure("interrupted");
      model.turn();
      continue;
    }
    if (const auto *token = std::get_if<TokenEvent>(&*event)) {
      score.logProbabilities.push_back(token->report.front().logProbability);
      sum -= score.logProbabilities.back();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(std::get<RequestEnd>(*event).failure);
    score.meanNll = sum / double(tokens.size() - 1);
    return score;
  }
}

std::string app::toJson(const Score &score, std::span<const int32_t> tokens) {
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
  json.key("token_ids");
  writeIds(json, tokens);
  json.endObject();
  return json.text() + "\n";
}

std::string app::summary(const Score &score) {
  char line[160];
  std::snprintf(line, sizeof(line),
                "%zu tokens: perplexity %.4f, mean negative log-likelihood "
                "%.5f\n",
                score.logProbabilities.size() + 1, score.perplexity(),
                score.meanNll);
  return line;
}
