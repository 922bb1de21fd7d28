//===- Llama.cpp - the architecture llama, with mistral -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GGUF files hold query and key rows in an order in which rope's pairs are
// neighbours. Hugging Face's files pair the halves of a head.
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

using namespace sluice;
using namespace sluice::importer;

namespace {

void readGGUF(Options &options, ModelConfig &config) {
  config.norm = NormKind::RMS;
  config.epsilon = options.number("attention.layer_norm_rms_epsilon");
  config.gated = true;
  readRopeGGUF(options, config);
  config.rope.interleaved = true;
  if (int64_t window = options.natural("attention.sliding_window", 0))
    config.windows.assign(config.layers, window);
}

void readMistralWindow(Options &options, ModelConfig &config) {
  // If the key is absent, the window is 4096; null means that there is none.
  bool isNull =
      options.isGiven("sliding_window") && !options.has("sliding_window");
  if (!isNull)
    config.windows.assign(config.layers, options.count("sliding_window", 4096));
}

void readHuggingFace(Options &options, ModelConfig &config) {
  readSizes(options, config, {});
  config.norm = NormKind::RMS;
  config.epsilon = options.number("rms_norm_eps", 1e-6);
  config.gated = true;
  config.activation = readActivation(options, "hidden_act", "silu");
  readTied(options, config, false);
  readRope(options, config);
  requireFullRotary(options);
  if (options.text("model_type") == "mistral") {
    readMistralWindow(options, config);
    return;
  }
  if (options.flag("attention_bias", false))
    config.queryKeyValueBias = config.attentionOutputBias = Bias::Required;
  if (options.flag("mlp_bias", false))
    config.feedForwardBias = Bias::Required;
  // This says how training split its matrices. The sums are the same.
  options.ignore({"pretraining_tp"});
}

} // namespace

const Architecture &importer::llama() {
  static const Architecture description = {
      .name = "llama",
      .modelTypes = {"llama", "mistral"},
      .ggufNames = ggufTensorNames(),
      .huggingFaceNames = {.prefix = "model.",
                           .tokens = "embed_tokens",
                           .layers = "layers",
                           .norm = "input_layernorm",
                           .norm2 = "post_attention_layernorm",
                           .query = "self_attn.q_proj",
                           .key = "self_attn.k_proj",
                           .value = "self_attn.v_proj",
                           .attentionOutput = "self_attn.o_proj",
                           .gate = "mlp.gate_proj",
                           .up = "mlp.up_proj",
                           .down = "mlp.down_proj",
                           .lastNorm = "norm",
                           .output = "lm_head",
                           .unused = {"self_attn.rotary_emb.inv_freq"}},
      .readGGUF = readGGUF,
      .readHuggingFace = readHuggingFace};
  return description;
}
