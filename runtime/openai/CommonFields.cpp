//===- CommonFields.cpp - the fields of both kinds of requests ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/CommonFields.h"

#include "runtime/core/StopMatcher.h"
#include "runtime/openai/Parameters.h"

#include <charconv>
#include <limits>

using namespace sluice;
using namespace sluice::openai;

/// The limit of OpenAI's API.
static constexpr double maxBias = 100;

/// Temperatures below this count as 0, as in vLLM. Clients that may not send 0
/// send such values instead.
static constexpr double minTemperature = 1e-5;

/// The limit of a client's text in a message.
static constexpr size_t maxShownBytes = 200;

static constexpr int64_t maxPriority = 1000;

ApiError openai::unknownModel(std::string_view name) {
  ApiError error =
      invalidField("model",
                   "The model `" + std::string(name.substr(0, maxShownBytes)) +
                       "` does not exist.",
                   "model_not_found");
  error.status = 404;
  return error;
}

ApiStatus openai::readModel(FieldReader &fields, const Model &model,
                            std::string &name) {
  name = model.names().front();
  fields.text("model", name);
  if (fields.ok() && !model.hasName(name))
    fields.keep(unknownModel(name));
  return fields.status();
}

static void readSampling(FieldReader &fields, SamplingParams &params) {
  params.temperature = 1;
  fields.number("temperature", params.temperature);
  if (params.temperature > 0 && params.temperature < minTemperature)
    params.temperature = 0;
  fields.number("top_p", params.topP);
  // OpenAI's range includes 0, which leaves the most probable token; the
  // sampler's range does not.
  if (params.topP == 0)
    params.topP = std::numeric_limits<double>::min();
  fields.integer("top_k", params.topK, -1, std::numeric_limits<int32_t>::max());
  fields.number("min_p", params.minP);
  fields.number("repetition_penalty", params.repetitionPenalty);
  fields.number("presence_penalty", params.presencePenalty);
  fields.number("frequency_penalty", params.frequencyPenalty);
  // In llama.cpp it limits how far back penalties look. Here they count
  // everything.
  const ordered_json *last = fields.find("repeat_last_n");
  if (last && *last != -1 && params.hasPenalties())
    fields.fail("repeat_last_n", "is not supported with penalties, which count "
                                 "all tokens here, but as -1");
}

static void readBiases(FieldReader &fields, const Model &model,
                       const RequestLimits &limits, SamplingParams &params) {
  const ordered_json *biases = fields.members("logit_bias");
  if (!biases)
    return;
  if (std::ssize(*biases) > limits.biases)
    return fields.fail("logit_bias", "has ", biases->size(),
                       " tokens, more than ", limits.biases);
  for (const auto &[key, value] : biases->items()) {
    int32_t token = -1;
    const char *end = key.data() + key.size();
    auto [behind, error] = std::from_chars(key.data(), end, token);
    if (error != std::errc() || behind != end || token < 0 ||
        token >= model.vocabularySize())
      return fields.fail("logit_bias", "has the token '", key.substr(0, 40),
                         "', which is not an id below ",
                         model.vocabularySize());
    if (!value.is_number() || !(std::abs(value.get<double>()) <= maxBias))
      return fields.fail("logit_bias", "has a bias of token ", token,
                         " that is not a number in [", -maxBias, ", ", maxBias,
                         "]");
    params.logitBias[token] = value.get<double>();
  }
}

static void readStops(FieldReader &fields, const RequestLimits &limits,
                      std::vector<std::string> &stops) {
  const ordered_json *value = fields.find("stop");
  if (!value)
    return;
  if (!value->is_string() && !value->is_array())
    return fields.fail("stop", "is ", typeName(*value),
                       ", not a string or an array of strings");
  ordered_json one;
  if (value->is_string()) {
    one = ordered_json::array({*value});
    value = &one;
  }
  if (std::ssize(*value) > limits.stops)
    return fields.fail("stop", "has ", value->size(), " strings, more than ",
                       limits.stops);
  for (const ordered_json &stop : *value) {
    if (!stop.is_string())
      return fields.fail("stop", "has ", typeName(stop),
                         " in it, not a string");
    auto text = stop.get<std::string>();
    if (text.empty())
      return fields.fail("stop", "has an empty string");
    if (std::ssize(text) > limits.stopBytes)
      return fields.fail("stop", "has a string of ", text.size(),
                         " bytes, more than ", limits.stopBytes);
    stops.push_back(std::move(text));
  }
  // Can fail only if the request's limits were raised above the matcher's.
  Expected<StopMatcher> matcher = StopMatcher::create(stops);
  if (!matcher)
    fields.keep(invalidField("stop", matcher.status().message()));
}

static void readStopTokens(FieldReader &fields, const RequestContext &context,
                           std::vector<int32_t> &tokens) {
  const ordered_json *ids = fields.array("stop_token_ids");
  if (!ids)
    return;
  if (std::ssize(*ids) > context.limits.stopTokens)
    return fields.fail("stop_token_ids", "has ", ids->size(),
                       " tokens, more than ", context.limits.stopTokens);
  for (const ordered_json &id : *ids) {
    std::optional<int64_t> token = integerOf(id);
    if (!token || *token < 0 || *token >= context.model.vocabularySize())
      return fields.fail("stop_token_ids", "has ", id.dump().substr(0, 40),
                         " in it, not an id below ",
                         context.model.vocabularySize());
    tokens.push_back(static_cast<int32_t>(*token));
  }
}

static void readStreaming(FieldReader &fields, GenerationRequest &request) {
  fields.flag("stream", request.stream);
  const ordered_json *options = fields.members("stream_options");
  if (!options)
    return;
  if (!request.stream)
    return fields.fail("stream_options",
                       "is only allowed where 'stream' is true");
  FieldReader inner(*options, "stream_options");
  inner.flag("include_usage", request.includeUsage);
  inner.flag("continuous_usage_stats", request.continuousUsage);
  fields.keep(inner.status());
}

static void readChoices(FieldReader &fields, const RequestContext &context,
                        GenerationRequest &request, CommonFields &common) {
  fields.integer("n", request.choices, 1, context.limits.choices);
  std::optional<int64_t> seed;
  fields.integer("seed", seed, INT64_MIN, INT64_MAX);
  common.seed = seed ? static_cast<uint64_t>(*seed) : context.random;
  int64_t priority = 0;
  fields.integer("priority", priority, -maxPriority, maxPriority);
  common.priority = static_cast<int32_t>(priority);
}

ApiExpected<CommonFields>
openai::readCommonFields(const ordered_json &body,
                         const RequestContext &context,
                         GenerationRequest &request) {
  FieldReader fields(body);
  CommonFields common;
  const Model &model = context.model;
  request.random = context.random;
  fields.keep(readModel(fields, model, request.model));
  fields.keep(checkParameters(body, request.endpoint));
  readSampling(fields, common.spec.sampling);
  readBiases(fields, model, context.limits, common.spec.sampling);
  readStops(fields, context.limits, request.stops);
  fields.flag("ignore_eos", common.ignoreEnd);
  if (!common.ignoreEnd)
    common.spec.stopTokens = model.endTokens();
  // Special tokens are not in the text that is searched for stop strings.
  for (const std::string &stop : request.stops)
    if (std::optional<text::TokenId> id = model.tokenizer().tokenId(stop);
        id && model.tokenizer().isSpecial(*id))
      common.spec.stopTokens.push_back(*id);
  readStopTokens(fields, context, common.spec.stopTokens);
  readStreaming(fields, request);
  readChoices(fields, context, request, common);
  fields.flag("skip_special_tokens", request.skipSpecial);
  fields.text("cache_salt", request.cacheSalt);
  request.tokenIds = !model.hasTokenizer();
  fields.flag("return_token_ids", request.tokenIds);
  if (!request.stops.empty() && !model.hasTokenizer())
    fields.fail("stop", "is not supported: this model has no tokenizer; use "
                        "'stop_token_ids'");
  if (!fields.ok())
    return fields.error();
  Status ranges = common.spec.sampling.validate(model.vocabularySize());
  if (!ranges.ok()) {
    // The message begins with the field's name.
    const std::string &text = ranges.message();
    return invalidField(text.substr(0, text.find_first_of(" :")), text);
  }
  return common;
}
