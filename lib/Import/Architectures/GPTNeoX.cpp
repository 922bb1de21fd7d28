//===- GPTNeoX.cpp - the architecture gptneox -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's files interleave each head's query, key and value; GGUF files
// hold all queries, then all keys, then all values.
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

using namespace sluice;
using namespace sluice::importer;

namespace {

Residual residualOf(bool isParallel) {
  return isParallel ? Residual::ParallelTwoNorms : Residual::Serial;
}

void readGGUF(Options &options, ModelConfig &config) {
  config.norm = NormKind::Layer;
  config.epsilon = options.number("attention.layer_norm_epsilon");
  config.residual = residualOf(options.flag("use_parallel_residual", true));
  config.qkv = QKVLayout::Concat;
  config.activation = Activation::Gelu;
  readRopeGGUF(options, config);
}

void readHuggingFace(Options &options, ModelConfig &config) {
  SizeKeys keys;
  keys.keyValueHeads = keys.headDim = "";
  readSizes(options, config, keys);
  config.norm = NormKind::Layer;
  config.epsilon = options.number("layer_norm_eps", 1e-5);
  config.residual = residualOf(options.flag("use_parallel_residual", true));
  config.qkv = QKVLayout::Grouped;
  config.activation = readActivation(options, "hidden_act", "gelu");
  if (options.flag("attention_bias", true))
    config.queryKeyValueBias = config.attentionOutputBias = Bias::Required;
  config.feedForwardBias = Bias::Required;
  readTied(options, config, false);
  readRope(options, config, options.number("rotary_emb_base", 10000));
  readPartialRotary(options, config, "rotary_pct", 0.25);
}

} // namespace

const Architecture &importer::gptNeoX() {
  static const Architecture description = {
      .name = "gptneox",
      .modelTypes = {"gpt_neox"},
      .ggufNames = ggufTensorNames(),
      .huggingFaceNames = {.prefix = "gpt_neox.",
                           .tokens = "embed_in",
                           .layers = "layers",
                           .norm = "input_layernorm",
                           .norm2 = "post_attention_layernorm",
                           .queryKeyValue = "attention.query_key_value",
                           .attentionOutput = "attention.dense",
                           .up = "mlp.dense_h_to_4h",
                           .down = "mlp.dense_4h_to_h",
                           .lastNorm = "final_layer_norm",
                           .output = "embed_out",
                           // The causal mask, the value for masked scores, and
                           // rope's frequencies, which the options give as
                           // well.
                           .unused = {"attention.bias", "attention.masked_bias",
                                      "attention.rotary_emb.inv_freq"}},
      .readGGUF = readGGUF,
      .readHuggingFace = readHuggingFace};
  return description;
}
