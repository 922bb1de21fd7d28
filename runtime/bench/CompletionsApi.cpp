//===- CompletionsApi.cpp - the OpenAI API from a client's view -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/CompletionsApi.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::bench;

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr size_t maxMessageBytes = 200;

/// Servers read seeds as signed integers of 32 or 64 bits.
constexpr uint64_t seedMask = 0x7FFFFFFF;

std::string dump(const ordered_json &value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

json parse(std::string_view text) {
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// Returns a member of an object, or null.
const json &member(const json &value, const char *name) {
  static const json none;
  if (!value.is_object())
    return none;
  auto found = value.find(name);
  return found == value.end() ? none : *found;
}

std::string textOf(const json &value) {
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t countOf(const json &value) {
  // An unsigned number above the largest signed one becomes negative, which
  // means unknown.
  return value.is_number_integer() ? value.get<int64_t>() : -1;
}

bool hasText(const json &value) {
  return value.is_string() && !value.get_ref<const std::string &>().empty();
}

std::string messageOf(const json &error) {
  std::string text =
      error.is_string() ? textOf(error) : textOf(member(error, "message"));
  return text.empty()
             ? error.dump(-1, ' ', false, json::error_handler_t::replace)
             : text;
}

bool hasOutput(const json &choice, BenchEndpoint endpoint, bool finished) {
  if (endpoint == BenchEndpoint::Completions) {
    const json &text = member(choice, "text");
    return hasText(text) || (!finished && text.is_string());
  }
  const json &delta = member(choice, "delta");
  return hasText(member(delta, "content")) ||
         hasText(member(delta, "reasoning_content")) ||
         hasText(member(delta, "reasoning")) ||
         !member(delta, "tool_calls").empty();
}

} // namespace

std::string_view bench::pathOf(BenchEndpoint endpoint) {
  return endpoint == BenchEndpoint::Chat ? "/v1/chat/completions"
                                         : "/v1/completions";
}

std::string bench::requestBody(const ApiOptions &api, const PromptShape &prompt,
                               const BenchRequest &spec,
                               uint64_t workloadSeed) {
  ordered_json body = {{"model", api.model}};
  if (api.endpoint == BenchEndpoint::Chat)
    body["messages"] = ordered_json::array(
        {ordered_json{{"role", "user"},
                      {"content", promptText(prompt, spec, workloadSeed)}}});
  else if (prompt.form == PromptForm::Text)
    body["prompt"] = promptText(prompt, spec, workloadSeed);
  else
    body["prompt"] = promptTokens(prompt, spec, workloadSeed);
  body["max_tokens"] = spec.outputTokens;
  body["ignore_eos"] = true;
  body["temperature"] = api.temperature;
  body["seed"] = spec.seed & seedMask;
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  return dump(body);
}

Expected<StreamChunk> bench::readChunk(std::string_view data,
                                       BenchEndpoint endpoint) {
  json value = parse(data);
  if (!value.is_object())
    return failure("an event's data is not a JSON object: '",
                   data.substr(0, 60), "'");
  StreamChunk chunk;
  const json &error = member(value, "error");
  if (!error.is_null()) {
    chunk.error = messageOf(error);
    return chunk;
  }
  const json &usage = member(value, "usage");
  chunk.promptTokens = countOf(member(usage, "prompt_tokens"));
  chunk.outputTokens = countOf(member(usage, "completion_tokens"));
  const json &choices = member(value, "choices");
  if (!choices.is_array() || choices.empty())
    return chunk;
  chunk.finished = member(choices[0], "finish_reason").is_string();
  chunk.hasOutput = hasOutput(choices[0], endpoint, chunk.finished);
  return chunk;
}

std::string bench::errorMessage(std::string_view body) {
  json value = parse(body);
  const json &error = member(value, "error");
  std::string text(body.substr(0, maxMessageBytes));
  if (!error.is_null())
    text = messageOf(error);
  else if (hasText(member(value, "message")))
    text = textOf(member(value, "message"));
  // An error is one line.
  return Status::error(text.substr(0, maxMessageBytes)).message();
}

Expected<ModelEntry> bench::readModels(std::string_view body) {
  json value = parse(body);
  if (!value.is_object())
    return failure("the list of models is not a JSON object");
  const json &data = member(value, "data");
  ModelEntry entry;
  if (data.is_array() && !data.empty()) {
    entry.id = textOf(member(data[0], "id"));
    entry.vocabularySize = std::max<int64_t>(
        0, countOf(member(member(data[0], "meta"), "n_vocab")));
  }
  if (entry.id.empty())
    return failure("the list of models has none");
  return entry;
}
