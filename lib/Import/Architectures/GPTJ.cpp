//===- GPTJ.cpp - the architecture gptj -----------------------------------===//
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
  config.residual = Residual::ParallelOneNorm;
  config.rope.interleaved = true;
}

void readGGUF(Options &options, ModelConfig &config) {
  setShape(config);
  config.epsilon = options.number("attention.layer_norm_epsilon");
  config.activation = Activation::GeluTanh;
  readRopeGGUF(options, config);
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
             .contextDefault = 2048});
  config.epsilon = options.number("layer_norm_epsilon", 1e-5);
  config.activation =
      readActivation(options, "activation_function", "gelu_new");
  config.feedForwardBias = config.outputBias = Bias::Required;
  config.rope.dimensions = options.count("rotary_dim", 64);
  // Null would rotate as many features as the model is wide.
  if (options.isGiven("rotary_dim") && !options.has("rotary_dim"))
    options.refuse("rotary_dim", "null is not supported");
  readTied(options, config, false);
  options.mustBeFlag("rotary", true);
  options.mustBeFlag("scale_attn_weights", true);
  // This repeats n_positions.
  options.ignore({"n_ctx"});
}

} // namespace

const Architecture &importer::gptj() {
  static const Architecture description = {
      .name = "gptj",
      .modelTypes = {"gptj"},
      .ggufNames = ggufTensorNames(),
      .huggingFaceNames = {.prefix = "transformer.",
                           .tokens = "wte",
                           .layers = "h",
                           .norm = "ln_1",
                           .query = "attn.q_proj",
                           .key = "attn.k_proj",
                           .value = "attn.v_proj",
                           .attentionOutput = "attn.out_proj",
                           .up = "mlp.fc_in",
                           .down = "mlp.fc_out",
                           .lastNorm = "ln_f",
                           .output = "lm_head",
                           // The causal mask and the value for masked scores.
                           .unused = {"attn.bias", "attn.masked_bias"}},
      .readGGUF = readGGUF,
      .readHuggingFace = readHuggingFace};
  return description;
}
