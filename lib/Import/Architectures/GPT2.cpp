//===- GPT2.cpp - the architecture gpt2 -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

using namespace sluice;
using namespace sluice::importer;

namespace {

void setShape(ModelConfig &config) {
  config.norm = NormKind::Layer;
  config.position = PositionKind::Learned;
  config.qkv = QKVLayout::Concat;
}

void readGGUF(Options &options, ModelConfig &config) {
  setShape(config);
  config.epsilon = options.number("attention.layer_norm_epsilon");
  config.activation = Activation::GeluTanh;
}

void readHuggingFace(Options &options, ModelConfig &config) {
  setShape(config);
  readSizes(options, config,
            {.hidden = "n_embd",
             .layers = "n_layer",
             .heads = "n_head",
             .keyValueHeads = "",
             .headDim = "",
             .feedForward = "n_inner",
             .context = "n_positions",
             .contextDefault = 1024});
  config.epsilon = options.number("layer_norm_epsilon", 1e-5);
  config.activation =
      readActivation(options, "activation_function", "gelu_new");
  config.queryKeyValueBias = config.attentionOutputBias =
      config.feedForwardBias = Bias::Required;
  config.transposed = true;
  readTied(options, config, true);
  if (!options.flag("scale_attn_weights", true))
    config.attentionScale = 1;
  config.scaleByLayer = options.flag("scale_attn_by_inverse_layer_idx", false);
  // The first key asks for scores in float32, in which Sluice always computes
  // them; n_ctx repeats n_positions.
  options.ignore({"reorder_and_upcast_attn", "n_ctx"});
}

} // namespace

const Architecture &importer::gpt2() {
  static const Architecture description = {
      .name = "gpt2",
      .modelTypes = {"gpt2"},
      .ggufNames = ggufTensorNames(),
      .huggingFaceNames = {.prefix = "transformer.",
                           .tokens = "wte",
                           .positions = "wpe",
                           .layers = "h",
                           .norm = "ln_1",
                           .norm2 = "ln_2",
                           .queryKeyValue = "attn.c_attn",
                           .attentionOutput = "attn.c_proj",
                           .up = "mlp.c_fc",
                           .down = "mlp.c_proj",
                           .lastNorm = "ln_f",
                           .output = "lm_head",
                           // The causal mask and the value for masked scores.
                           .unused = {"attn.bias", "attn.masked_bias"}},
      .readGGUF = readGGUF,
      .readHuggingFace = readHuggingFace};
  return description;
}
