//===- Parameters.cpp - tables of refused and of harmless fields ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Parameters.h"

using namespace sluice;
using namespace sluice::openai;

using Where = RefusedParameter::Where;

static constexpr RefusedParameter refused[] = {
    // OpenAI.
    {"suffix", "", "put it into the prompt", Where::Completions},
    {"functions", "", "use 'tools'", Where::Chat},
    {"function_call", "", "use 'tool_choice'", Where::Chat},
    {"audio", "", "", Where::Chat},
    {"modalities", "[\"text\"]", "", Where::Chat},
    {"web_search_options", "", "", Where::Chat},
    {"verbosity", "\"medium\"", "", Where::Chat},
    // The form of the answer (vLLM).
    {"include_stop_str_in_output", "false"},
    {"detokenize", "true"},
    {"prompt_logprobs", ""},
    {"logprob_token_ids", ""},
    {"return_tokens_as_token_ids", "false"},
    {"include_reasoning", "true", "", Where::Chat},
    {"reasoning_format", "\"none\"|\"auto\"", "", Where::Chat},
    {"echo", "false", "use 'continue_final_message'", Where::Chat},
    // The prompt (vLLM).
    {"chat_template", "", "the server's template is used", Where::Chat},
    {"prompt_embeds", "", "", Where::Completions},
    {"mm_processor_kwargs", ""},
    {"media_io_kwargs", ""},
    {"lora_path", ""},
    {"lora", ""},
    {"enable_thinking", "", "use 'chat_template_kwargs'", Where::Chat},
    {"thinking", "", "use 'chat_template_kwargs'", Where::Chat},
    {"thinking_token_budget", "-1"},
    {"thinking_budget_tokens", "-1"},
    {"reasoning", "", "use 'reasoning_effort'", Where::Chat},
    // The choice of tokens (vLLM, SGLang).
    {"min_tokens", "0"},
    {"min_new_tokens", "0"},
    {"max_new_tokens", "", "use 'max_tokens'"},
    {"use_beam_search", "false"},
    {"length_penalty", "1"},
    {"early_stopping", "false"},
    {"allowed_token_ids", ""},
    {"bad_words", ""},
    {"logits_processors", ""},
    {"custom_logit_processor", ""},
    {"repetition_detection", ""},
    {"watermarking", "false"},
    {"no_repeat_ngram_size", "0"},
    {"vllm_xargs", ""},
    {"kv_transfer_params", ""},
    {"ec_transfer_params", ""},
    {"guided_regex", "", "use 'guided_grammar'"},
    {"guided_whitespace_pattern", ""},
    {"regex", "", "use 'grammar'"},
    {"ebnf", "", "use 'grammar'"},
    {"structural_tag", ""},
    {"stop_regex", ""},
    {"no_stop_trim", "false"},
    // The choice of tokens (llama.cpp and what is built on it).
    {"n_predict", "-1", "use 'max_tokens'"},
    {"repeat_penalty", "1", "use 'repetition_penalty'"},
    {"typical_p", "1"},
    {"tfs_z", "1"},
    {"top_a", "0"},
    {"top_n_sigma", "-1|0"},
    {"mirostat", "0"},
    {"dynatemp_range", "0"},
    {"smoothing_factor", "0"},
    {"xtc_probability", "0"},
    {"dry_multiplier", "0"},
    {"adaptive_target", "-1"},
    {"samplers", ""},
    {"min_keep", "0|1"},
    {"n_probs", "0", "use 'logprobs'"},
    {"n_indent", "0"},
    {"t_max_predict_ms", "0|-1"},
    {"grammar_lazy", "false"},
    {"grammar_triggers", ""},
    {"response_fields", ""},
    {"parse_tool_calls", "true", "", Where::Chat},
};

static constexpr std::string_view harmless[] = {
    // OpenAI: the user and the purpose of a request, its priority, its storage.
    "user", "safety_identifier", "metadata", "store", "service_tier",
    "prompt_cache_key", "prompt_cache_retention", "prediction",
    // vLLM, SGLang: names of requests, and settings of their own programs.
    "request_id", "session_id", "rid", "spaces_between_special_tokens",
    "guided_decoding_backend", "stream_interval", "return_token_offsets",
    // False is the behaviour here: all text is in `content`.
    "separate_reasoning", "return_mm_kwargs", "routed_experts_prompt_start",
    // llama.cpp: where a request runs, and statistics.
    "cache_prompt", "id_slot", "n_keep", "timings_per_token",
    "return_progress"};

std::span<const RefusedParameter> openai::refusedParameters() {
  return refused;
}

std::span<const std::string_view> openai::harmlessParameters() {
  return harmless;
}

static bool isNeutral(const ordered_json &value, std::string_view neutral) {
  bool isText = value.is_string();
  if (value.is_null() ||
      (isText && value.get_ref<const std::string &>().empty()) ||
      (value.is_structured() && value.empty()))
    return true;
  while (!neutral.empty()) {
    size_t end = std::min(neutral.find('|'), neutral.size());
    if (value == ordered_json::parse(neutral.substr(0, end), nullptr, false))
      return true;
    neutral.remove_prefix(std::min(end + 1, neutral.size()));
  }
  return false;
}

ApiStatus openai::checkParameters(const ordered_json &request,
                                  Endpoint endpoint) {
  for (const RefusedParameter &parameter : refused) {
    if (parameter.where != Where::Both &&
        (parameter.where == Where::Chat) != (endpoint == Endpoint::Chat))
      continue;
    auto found = request.find(parameter.name);
    if (found == request.end() || isNeutral(*found, parameter.neutral))
      continue;
    std::string message =
        "'" + std::string(parameter.name) + "' is not supported";
    if (!parameter.hint.empty())
      (message += "; ") += parameter.hint;
    return invalidField(std::string(parameter.name), std::move(message),
                        "unsupported_parameter");
  }
  return std::nullopt;
}
