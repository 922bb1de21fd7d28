//===- CommonOptions.cpp - options that architectures share ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/Architecture.h"
#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::importer;

namespace {

/// Keys of config.json about the file, about training, and with defaults for
/// sampling. They do not change what the model computes.
constexpr std::string_view harmlessKeys[] = {"model_type",
                                             "architectures",
                                             "torch_dtype",
                                             "dtype",
                                             "auto_map",
                                             "transformers_version",
                                             "_name_or_path",
                                             "_commit_hash",
                                             "name_or_path",
                                             "tokenizer_class",
                                             "unsloth_version",
                                             "unsloth_fixed",
                                             "use_cache",
                                             "use_bfloat16",
                                             "torchscript",
                                             "_attn_implementation",
                                             "_attn_implementation_autoset",
                                             "_flash_attn_2_enabled",
                                             "gradient_checkpointing",
                                             "initializer_range",
                                             "is_decoder",
                                             "bos_token_id",
                                             "pad_token_id",
                                             "sep_token_id",
                                             "unk_token_id",
                                             "decoder_start_token_id",
                                             "id2label",
                                             "label2id",
                                             "problem_type",
                                             "finetuning_task",
                                             "task_specific_params",
                                             "prefix",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "output_scores",
                                             "return_dict",
                                             "return_dict_in_generate",
                                             "chunk_size_feed_forward",
                                             "attention_dropout",
                                             "hidden_dropout",
                                             "classifier_dropout",
                                             "attention_probs_dropout_prob",
                                             "hidden_dropout_prob",
                                             "max_sequence_length",
                                             "is_llama_config",
                                             "transformers.js_config",
                                             "num_labels",
                                             "_num_labels",
                                             "attn_pdrop",
                                             "embd_pdrop",
                                             "resid_pdrop",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "summary_type",
                                             "summary_use_proj",
                                             "temperature",
                                             "top_k",
                                             "top_p",
                                             "typical_p",
                                             "do_sample",
                                             "max_length",
                                             "max_new_tokens",
                                             "min_length",
                                             "num_beams",
                                             "num_beam_groups",
                                             "num_return_sequences",
                                             "early_stopping",
                                             "diversity_penalty",
                                             "repetition_penalty",
                                             "length_penalty",
                                             "no_repeat_ngram_size",
                                             "encoder_no_repeat_ngram_size",
                                             "bad_words_ids",
                                             "suppress_tokens",
                                             "begin_suppress_tokens",
                                             "forced_bos_token_id",
                                             "forced_eos_token_id",
                                             "exponential_decay_length_penalty",
                                             "remove_invalid_values"};

/// Returns hidden / heads, which must be an integer.
int64_t defaultHeadDim(Options &options, std::string_view headsKey,
                       const ModelConfig &config) {
  if (config.hidden % config.heads != 0)
    options.refuse(headsKey, std::to_string(config.heads) +
                                 " heads do not divide a hidden size of " +
                                 std::to_string(config.hidden));
  return std::max<int64_t>(config.hidden / config.heads, 1);
}

int64_t readLayers(Options &options, std::string_view key) {
  int64_t layers = options.count(key);
  if (layers <= maxLayers)
    return layers;
  options.refuse(key, std::to_string(layers) + " layers are more than the " +
                          std::to_string(maxLayers) + " supported");
  return 1;
}

double inverseRoot(int64_t headDim) {
  return 1 / std::sqrt(static_cast<double>(headDim));
}

/// Returns YaRN's correction of attention's temperature (equation 22 of the
/// paper).
double yarnScale(double factor, double strength) {
  return factor <= 1 ? 1 : 0.1 * strength * std::log(factor) + 1;
}

void readYarn(Options &options, const ModelConfig &config,
              RopeScaling &scaling) {
  scaling.kind = RopeScaling::Kind::Yarn;
  scaling.factor = options.number("factor");
  scaling.originalContext =
      options.count("original_max_position_embeddings", config.context);
  scaling.betaFast = options.number("beta_fast", 32);
  scaling.betaSlow = options.number("beta_slow", 1);
  scaling.truncate = options.flag("truncate", true);
  double scale = options.number("mscale", 0);
  double scaleAll = options.number("mscale_all_dim", 0);
  double computed = yarnScale(scaling.factor, 1);
  if (scale != 0 && scaleAll != 0)
    computed =
        yarnScale(scaling.factor, scale) / yarnScale(scaling.factor, scaleAll);
  scaling.attentionFactor = options.number("attention_factor", computed);
  options.ignore({"finetuned"});
}

void readLlama3(Options &options, RopeScaling &scaling) {
  scaling.kind = RopeScaling::Kind::Llama3;
  scaling.factor = options.number("factor");
  scaling.lowFrequencyFactor = options.number("low_freq_factor");
  scaling.highFrequencyFactor = options.number("high_freq_factor");
  scaling.originalContext = options.count("original_max_position_embeddings");
}

} // namespace

void importer::readSizes(Options &options, ModelConfig &config,
                         const SizeKeys &keys) {
  config.hidden = options.count(keys.hidden);
  config.layers = readLayers(options, keys.layers);
  config.heads = options.count(keys.heads);
  config.keyValueHeads = keys.keyValueHeads.empty()
                             ? config.heads
                             : options.count(keys.keyValueHeads, config.heads);
  if (!keys.headDim.empty() && options.has(keys.headDim))
    config.headDim = options.count(keys.headDim);
  else
    config.headDim = defaultHeadDim(options, keys.heads, config);
  config.feedForward = options.count(keys.feedForward, 4 * config.hidden);
  config.context = options.count(keys.context, keys.contextDefault);
  config.attentionScale = inverseRoot(config.headDim);
  config.rope.dimensions = config.headDim;
}

void importer::readRope(Options &options, ModelConfig &config, double base) {
  bool isModern = options.has("rope_parameters");
  if (isModern && options.has("rope_scaling"))
    options.refuse("rope_scaling", "given beside 'rope_parameters'");
  Options &rope = options.table(isModern ? "rope_parameters" : "rope_scaling");
  config.rope.base =
      rope.number("rope_theta", options.number("rope_theta", base));

  // Older files call this "type". If both names are present, the newer one
  // counts.
  std::string type = rope.text("type", "default");
  type = rope.text("rope_type", type);
  RopeScaling &scaling = config.rope.scaling;
  if (type == "linear") {
    scaling.kind = RopeScaling::Kind::Linear;
    scaling.factor = rope.number("factor");
  } else if (type == "llama3") {
    readLlama3(rope, scaling);
  } else if (type == "yarn") {
    readYarn(rope, config, scaling);
  } else if (type != "default") {
    rope.refuse("rope_type", quote(type) + " is not supported (default, "
                                           "linear, llama3 and yarn are)");
  }
}

void importer::readPartialRotary(Options &options, ModelConfig &config,
                                 std::string_view key, double fallback) {
  double part = options.number(key, fallback);
  part = options.number("partial_rotary_factor", part);
  part = options.table("rope_parameters").number("partial_rotary_factor", part);
  if (!(part > 0 && part <= 1)) {
    options.refuse(key, "a rotated part of " + std::to_string(part) +
                            " of a head is impossible");
    part = 1;
  }
  config.rope.dimensions =
      static_cast<int64_t>(static_cast<double>(config.headDim) * part);
}

void importer::requireFullRotary(Options &options) {
  options.mustBeNumber("partial_rotary_factor", 1);
  options.table("rope_parameters").mustBeNumber("partial_rotary_factor", 1);
}

Activation importer::readActivation(Options &options, std::string_view key,
                                    std::string_view fallback) {
  std::string name = options.text(key, std::string(fallback));
  if (name == "silu" || name == "swish")
    return Activation::Silu;
  if (name == "gelu" || name == "gelu_python")
    return Activation::Gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast")
    return Activation::GeluTanh;
  if (name == "relu")
    return Activation::Relu;
  options.refuse(key, "activation " + quote(name) + " is not supported");
  return Activation::Silu;
}

void importer::readTied(Options &options, ModelConfig &config, bool fallback) {
  config.tied =
      options.flag("tie_word_embeddings", fallback) ? Tied::Yes : Tied::No;
}

void importer::readCommonHuggingFace(Options &options, ModelConfig &config) {
  config.vocabulary = options.count("vocab_size");
  config.eosTokens = options.tokenIds("eos_token_id");
  readQuantization(options);
  options.mustBeFlag("is_encoder_decoder", false);
  options.mustBeFlag("add_cross_attention", false);
  if (options.has("pruned_heads") && options.table("pruned_heads").has("0"))
    options.refuse("pruned_heads", "pruned heads are not supported");
  for (std::string_view key : harmlessKeys)
    options.ignore({key});
}

void importer::readCommonGGUF(Options &options, ModelConfig &config) {
  config.layers = readLayers(options, "block_count");
  config.context = options.count("context_length");
  config.hidden = options.count("embedding_length");
  config.feedForward =
      options.uniformCount("feed_forward_length", 4 * config.hidden);
  config.heads = options.uniformCount("attention.head_count");
  config.keyValueHeads =
      options.uniformCount("attention.head_count_kv", config.heads);
  if (options.has("attention.key_length"))
    config.headDim = options.count("attention.key_length");
  else
    config.headDim = defaultHeadDim(options, "attention.head_count", config);
  if (options.count("attention.value_length", config.headDim) != config.headDim)
    options.refuse("attention.value_length",
                   "values of another size than keys are not supported");
  config.attentionScale = inverseRoot(config.headDim);
  config.rope.dimensions = config.headDim;
  // 0 means that it is not given. ModelFiles then finds it from the tokenizer
  // or the tensors.
  config.vocabulary = options.natural("vocab_size", 0);
  config.tied = Tied::IfNoOutput;
  config.outputBias = Bias::IfPresent;
  config.queryKeyValueBias = Bias::IfPresent;
  config.attentionOutputBias = Bias::IfPresent;
  config.feedForwardBias = Bias::IfPresent;

  options.mustBeFlag("attention.causal", true);
  for (std::string_view key : {"expert_count", "expert_used_count"})
    if (options.natural(key, 0) != 0)
      options.refuse(key, "mixtures of experts are not supported");
  options.mustBeNumber("pooling_type", 0);
  // This says which tool wrote the tensors. Their layout depends on the
  // architecture alone.
  options.ignore({"tensor_data_layout"});
}

void importer::readRopeGGUF(Options &options, ModelConfig &config) {
  RopeConfig &rope = config.rope;
  rope.dimensions = options.count("rope.dimension_count", config.headDim);
  rope.base = options.number("rope.freq_base", 10000);
  options.ignore({"rope.scaling.finetuned"});

  RopeScaling &scaling = rope.scaling;
  std::string type = options.text("rope.scaling.type", "linear");
  // Older files have only the factor of linear scaling, under this name.
  double factor = options.number("rope.scale_linear", 1);
  factor = options.number("rope.scaling.factor", factor);
  // Files write 0 for "none".
  scaling.factor = factor == 0 ? 1 : factor;
  if (type == "none" || (type == "linear" && scaling.factor == 1)) {
    scaling.factor = 1;
    options.ignore({"rope.scaling.original_context_length"});
  } else if (type == "linear") {
    scaling.kind = RopeScaling::Kind::Linear;
    options.ignore({"rope.scaling.original_context_length"});
  } else if (type == "yarn") {
    scaling.kind = RopeScaling::Kind::Yarn;
    scaling.originalContext =
        options.count("rope.scaling.original_context_length", config.context);
    scaling.betaFast = options.number("rope.scaling.yarn_beta_fast", 32);
    scaling.betaSlow = options.number("rope.scaling.yarn_beta_slow", 1);
    options.mustBeNumber("rope.scaling.yarn_ext_factor", 1);
    options.mustBeNumber("rope.scaling.yarn_attn_factor", 1);
    options.mustBeNumber("rope.scaling.yarn_log_multiplier", 0);
    scaling.attentionFactor = yarnScale(scaling.factor, 1);
  } else {
    options.refuse("rope.scaling.type", quote(type) + " is not supported "
                                                      "(none, linear and yarn "
                                                      "are)");
  }
  options.mustBeNumber("rope.scaling.attn_factor", 1);
}
