//===- Falcon.cpp - the architecture falcon, in all its variants ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The old decoder has one norm (two if it is serial) and either one key head or
// as many as query heads. The new decoder groups heads and has one norm or two.
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

using namespace sluice;
using namespace sluice::importer;

namespace {

void readGGUF(Options &options, ModelConfig &config) {
  config.norm = NormKind::Layer;
  config.epsilon = options.number("attention.layer_norm_epsilon");
  // ModelFiles changes this if the file has the tensor attn_norm_2, that is two
  // norms.
  config.residual = Residual::ParallelOneNorm;
  config.qkv = QKVLayout::Concat;
  config.activation = Activation::Gelu;
  readRopeGGUF(options, config);
}

/// Reads the keys of the old decoder, whose queries, keys and values are stored
/// as q...qkv or as qkv, qkv, ...
void readOldDecoder(Options &options, ModelConfig &config) {
  bool isParallel = options.flag("parallel_attn", true);
  config.residual = isParallel ? Residual::ParallelOneNorm : Residual::Serial;
  if (options.flag("multi_query", true)) {
    // num_kv_heads has no meaning here and can have any value in files.
    config.keyValueHeads = 1;
    config.qkv = QKVLayout::Concat;
    return;
  }
  if (config.keyValueHeads != config.heads)
    options.refuse("num_kv_heads", "differs from num_attention_heads without "
                                   "new_decoder_architecture");
  config.qkv = QKVLayout::Grouped;
}

void readNewDecoder(Options &options, ModelConfig &config) {
  int64_t norms = options.count("num_ln_in_parallel_attn", 2);
  if (norms > 2)
    options.refuse("num_ln_in_parallel_attn", "is neither 1 nor 2");
  if (norms == 1)
    options.mustBeFlag("parallel_attn", true);
  config.residual =
      norms == 2 ? Residual::ParallelTwoNorms : Residual::ParallelOneNorm;
  config.qkv = QKVLayout::Grouped;
  // These have no meaning for the new decoder.
  options.ignore({"multi_query", "parallel_attn"});
}

void readHuggingFace(Options &options, ModelConfig &config) {
  SizeKeys keys;
  keys.keyValueHeads = "num_kv_heads";
  keys.headDim = "";
  keys.feedForward = "ffn_hidden_size";
  readSizes(options, config, keys);
  config.norm = NormKind::Layer;
  config.epsilon = options.number("layer_norm_epsilon", 1e-5);
  config.activation = readActivation(options, "activation", "gelu");
  if (options.flag("bias", false))
    config.queryKeyValueBias = config.attentionOutputBias =
        config.feedForwardBias = Bias::Required;
  readTied(options, config, true);
  readRope(options, config);
  requireFullRotary(options);
  // ffn_hidden_size was computed from this.
  options.ignore({"ff_factor"});
  if (options.flag("alibi", false)) {
    config.position = PositionKind::Alibi;
    // Falcon adds ALiBi's bias before it scales the scores. Transformers also
    // rounds the bias to bfloat16, which is not done here; up to position 256
    // it makes no difference.
    config.alibiScale = config.attentionScale;
  }
  if (options.flag("new_decoder_architecture", false))
    readNewDecoder(options, config);
  else
    readOldDecoder(options, config);
}

} // namespace

const Architecture &importer::falcon() {
  static const Architecture description = [] {
    Architecture falcon = {
        .name = "falcon",
        .modelTypes = {"falcon"},
        .ggufNames = ggufTensorNames(),
        .huggingFaceNames = {.prefix = "transformer.",
                             .tokens = "word_embeddings",
                             .layers = "h",
                             .norm = "input_layernorm",
                             .norm2 = "post_attention_layernorm",
                             .parallelNorm = "ln_attn",
                             .parallelNorm2 = "ln_mlp",
                             .queryKeyValue = "self_attention.query_key_value",
                             .attentionOutput = "self_attention.dense",
                             .up = "mlp.dense_h_to_4h",
                             .down = "mlp.dense_4h_to_h",
                             .lastNorm = "ln_f",
                             .output = "lm_head",
                             .unused = {"self_attention.rotary_emb.inv_freq"}},
        .readGGUF = readGGUF,
        .readHuggingFace = readHuggingFace};
    falcon.ggufNames.parallelNorm = "attn_norm_2";
    falcon.ggufNames.parallelNorm2 = "attn_norm";
    return falcon;
  }();
  return description;
}
