//===- Score.cpp - the probability of a text ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/core/LogProbabilities.h"
#include "runtime/core/Sequence.h"

#include <cmath>

using namespace sluice;
using namespace sluice::run;

using interpreter::RowData;

/// Returns the log-probability of each token except the first, given the tokens
/// before it.
static Expected<std::vector<double>>
scoreTokens(RunSession &session, std::span<const int32_t> ids, int64_t chunk) {
  Sequence sequence(0, session.contextLength());
  SLUICE_RETURN_IF_ERROR(sequence.append(ids));
  StepBatch batch(chunk, chunk);
  std::vector<double> scores;
  while (sequence.pending() > 0) {
    batch.clear();
    int64_t rows = sequence.schedule(batch, chunk, LogitsOf::All);
    Expected<RowData> logits = session.interpreter().step(batch);
    if (!logits)
      return logits.status();
    sequence.commit(rows);
    for (int64_t o = 0; o < logits->rows() && scores.size() + 1 < ids.size();
         ++o) {
      Expected<LogProbabilities> probabilities =
          LogProbabilities::of(logits->row(o));
      if (!probabilities)
        return probabilities.status();
      scores.push_back(probabilities->logProbability(ids[scores.size() + 1]));
    }
  }
  return scores;
}

Status sluice::run::score(RunSession &session, const RunOptions &options) {
  Expected<std::vector<int32_t>> ids = session.readPrompt(options, 0);
  if (!ids)
    return ids.status();
  if (ids->size() < 2)
    return failure("scoring needs at least two tokens");
  Expected<std::vector<double>> scores =
      scoreTokens(session, *ids, options.prefillChunk);
  if (!scores)
    return scores.status();
  double nll = 0;
  for (double score : *scores)
    nll -= score / scores->size();

  if (!options.json)
    return writeOutput("perplexity " + std::to_string(std::exp(nll)) +
                       " over " + std::to_string(scores->size()) + " tokens\n");
  text::JsonWriter json;
  json.beginObject();
  json.key("tokens").number(static_cast<int64_t>(ids->size()));
  json.key("perplexity").number(std::exp(nll));
  json.key("nll").number(nll);
  json.key("token_logprobs").beginArray();
  json.null(); // the first token has no probability
  for (double score : *scores)
    json.number(score);
  json.endArray();
  json.key("token_ids");
  writeIds(json, *ids);
  json.endObject();
  return writeOutput(json.text() + "\n");
}
