//===- GenerateCommand.cpp - the command `generate` -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/app/Generator.h"
#include "runtime/app/Interrupt.h"
#include "runtime/app/JsonWriter.h"
#include "runtime/app/Prompt.h"
#include "runtime/base/StandardOutput.h"

#include <cstdio>

using namespace sluice;
using namespace sluice::app;

namespace {

void writeTiming(JsonWriter &json, const GenerationTiming &timing) {
  json.key("timing").beginObject();
  json.key("prompt_tokens").number(timing.promptTokens);
  json.key("prompt_seconds").number(timing.promptSeconds);
  json.key("generated_tokens").number(timing.generatedTokens);
  json.key("generate_seconds").number(timing.generateSeconds);
  json.key("ttft_seconds").number(timing.firstTokenSeconds);
  json.endObject();
}

void writeLogProbability(JsonWriter &json, const TokenLogProbability &entry) {
  json.key("token").number(int64_t(entry.token));
  json.key("logprob").number(entry.logProbability);
}

void writeReports(JsonWriter &json, const std::vector<TokenReport> &reports) {
  json.key("logprobs").beginArray();
  for (const TokenReport &report : reports) {
    json.beginObject();
    writeLogProbability(json, report.chosen);
    json.key("top").beginArray();
    for (const TokenLogProbability &entry : report.top) {
      json.beginObject();
      writeLogProbability(json, entry);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
}

void writeIds(JsonWriter &json, std::span<const int32_t> tokens) {
  json.beginArray();
  for (int32_t token : tokens)
    json.number(int64_t(token));
  json.endArray();
}

/// `text` is null when the model has no tokenizer.
std::string toJson(const Generation &result, const GenerateOptions &options,
                   const std::string *text) {
  JsonWriter json;
  json.beginObject();
  json.key("tokens");
  writeIds(json, result.tokens);
  json.key("text");
  if (text)
    json.string(*text);
  else
    json.null();
  json.key("finish_reason").string(finishReasonName(result.finish));
  writeTiming(json, result.timing);
  if (!options.sampling.greedy())
    json.key("seed").number(options.sampling.seed);
  if (options.lastLogits)
    json.key("last_logits").numbers(std::span(result.lastLogits));
  if (options.logProbs)
    writeReports(json, result.reports);
  json.endObject();
  return json.text() + "\n";
}

void noteSpeed(const GenerationTiming &timing, const GenerateOptions &options) {
  auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? double(tokens) / seconds : 0.0;
  };
  // The first token comes with the prompt; the time is that of the others.
  int64_t timed = std::max<int64_t>(0, timing.generatedTokens - 1);
  char line[200];
  std::snprintf(line, sizeof(line),
                "prompt: %lld tokens, %.1f tokens/s; generation: %lld tokens, "
                "%.1f tokens/s",
                static_cast<long long>(timing.promptTokens),
                rate(timing.promptTokens, timing.promptSeconds),
                static_cast<long long>(timing.generatedTokens),
                rate(timed, timing.generateSeconds));
  std::string text = line;
  if (!options.sampling.greedy())
    text += "; seed " + std::to_string(options.sampling.seed);
  writeNote(text);
}

/// Writes what is generated as it comes: text, or ids where there is no
/// tokenizer to make text.
Status writePiece(int32_t token, std::string_view text, bool asText) {
  if (asText)
    return writeOutput(text);
  return writeOutput(std::to_string(token) + " ");
}

} // namespace

Expected<int>
app::runGenerate(const ProgramImage &image, const GenerateOptions &options,
                 std::chrono::steady_clock::time_point programStart) {
  Expected<std::unique_ptr<Engine>> engine =
      Engine::create(image, options.engine);
  if (!engine)
    return engine.status();
  const text::Tokenizer *tokenizer = (*engine)->tokenizer();
  Expected<std::vector<int32_t>> prompt =
      readPrompt(options.prompt, **engine, /*addSpecial=*/true);
  if (!prompt)
    return prompt.status();
  Expected<Generator> generator =
      Generator::create(**engine, options, programStart);
  if (!generator)
    return generator.status();
  if (Status s = (*engine)->load(generator->needs()); !s.ok())
    return s;

  std::string echoed;
  if (options.echo && tokenizer)
    echoed = tokenizer->decode(*prompt);
  if (!options.json)
    if (Status s = writeOutput(echoed); !s.ok())
      return s;
  Generator::Write write = [&](int32_t token, std::string_view text) {
    return options.json ? Status() : writePiece(token, text, tokenizer);
  };
  Expected<Generation> result = generator->run(*prompt, write);
  if (!result)
    return result.status();
  if (options.json) {
    std::string text = echoed + result->text;
    if (Status s =
            writeOutput(toJson(*result, options, tokenizer ? &text : nullptr));
        !s.ok())
      return s;
    return 0;
  }
  if (Status s = writeOutput("\n"); !s.ok())
    return s;
  noteSpeed(result->timing, options);
  return result->finish == FinishReason::Cancelled ? interruptedExitCode() : 0;
}
