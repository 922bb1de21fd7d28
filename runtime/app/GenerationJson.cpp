//===- GenerationJson.cpp - a generation as JSON --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/GenerationJson.h"

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

void writeSeconds(text::JsonWriter &json, const char *name,
                  std::optional<double> seconds) {
  json.key(name);
  if (seconds)
    json.number(*seconds);
  else
    json.null();
}

void writeTiming(text::JsonWriter &json, const GenerationTiming &timing) {
  json.key("timing").beginObject();
  json.key("prompt_tokens").number(timing.promptTokens);
  writeSeconds(json, "prompt_seconds", timing.promptSeconds);
  json.key("generated_tokens").number(timing.generatedTokens);
  json.key("generate_seconds").number(timing.generateSeconds);
  writeSeconds(json, "ttft_seconds", timing.firstTokenSeconds);
  json.endObject();
}

void writeLogProbability(text::JsonWriter &json,
                         const TokenLogProbability &entry) {
  json.key("token").number(int64_t(entry.token));
  json.key("logprob").number(entry.logProbability);
}

void writeReports(
    text::JsonWriter &json,
    const std::vector<std::vector<TokenLogProbability>> &reports) {
  json.key("logprobs").beginArray();
  for (std::span<const TokenLogProbability> report : reports) {
    json.beginObject();
    writeLogProbability(json, report.front());
    json.key("top").beginArray();
    for (const TokenLogProbability &entry : report.subspan(1)) {
      json.beginObject();
      writeLogProbability(json, entry);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

} // namespace

void app::writeIds(text::JsonWriter &json, std::span<const int32_t> tokens) {
  json.beginArray();
  for (int32_t token : tokens)
    json.number(int64_t(token));
  json.endArray();
}

void app::writeGeneration(text::JsonWriter &json, const Generation &result,
                          const GenerateOptions &options,
                          const std::string *text) {
  json.key("tokens");
  writeIds(json, result.tokens);
  json.key("text");
  if (text)
    json.string(*text);
  else
    json.null();
  json.key("finish_reason").string(finishReasonName(result.finish));
  writeTiming(json, result.timing);
  json.key("tokens_per_second").number(result.timing.tokensPerSecond());
  if (!options.sampling.greedy())
    json.key("seed").number(options.sampling.seed);
  if (options.lastLogits)
    json.key("last_logits").numbers(std::span(result.lastLogits));
  if (options.logProbs)
    writeReports(json, result.reports);
}
