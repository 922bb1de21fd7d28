//===- Qwen2.cpp - the architecture qwen2 ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

#include "sluice/Import/Support/Quote.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::importer;

namespace {

void readGGUF(Options &options, ModelConfig &config) {
  config.norm = NormKind::RMS;
  config.epsilon = options.number("attention.layer_norm_rms_epsilon");
  config.gated = true;
  readRopeGGUF(options, config);
}

/// Reads the layers' windows. With use_sliding_window, the layers from
/// max_window_layers on have a window, unless layer_types says it for each
/// layer. A window of null means none.
void readWindows(Options &options, ModelConfig &config) {
  bool isNull =
      options.isGiven("sliding_window") && !options.has("sliding_window");
  int64_t window = isNull ? 0 : options.count("sliding_window", 4096);
  int64_t first = options.natural("max_window_layers", 28);
  std::vector<std::string> types = options.texts("layer_types");
  bool isUsed = options.flag("use_sliding_window", false);
  config.windows.assign(config.layers, 0);
  if (types.empty()) {
    for (int64_t i = first; isUsed && i < config.layers; ++i)
      config.windows[i] = window;
    return;
  }
  config.windows.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "sliding_attention")
      config.windows[i] = isUsed ? window : 0;
    else if (types[i] != "full_attention")
      options.refuse("layer_types", quote(types[i]) + " is not supported");
  }
}

void readHuggingFace(Options &options, ModelConfig &config) {
  SizeKeys keys;
  keys.contextDefault = 32768;
  readSizes(options, config, keys);
  config.norm = NormKind::RMS;
  config.epsilon = options.number("rms_norm_eps", 1e-6);
  config.gated = true;
  config.activation = readActivation(options, "hidden_act", "silu");
  config.queryKeyValueBias = Bias::Required;
  readTied(options, config, false);
  readRope(options, config);
  requireFullRotary(options);
  readWindows(options, config);
}

} // namespace

const Architecture &importer::qwen2() {
  static const Architecture description = {.name = "qwen2",
                                           .modelTypes = {"qwen2"},
                                           .ggufNames = ggufTensorNames(),
                                           // The names are Llama's; the biases
                                           // are Qwen2's own.
                                           .huggingFaceNames =
                                               llama().huggingFaceNames,
                                           .readGGUF = readGGUF,
                                           .readHuggingFace = readHuggingFace};
  return description;
}
