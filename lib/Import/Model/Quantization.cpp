//===- Quantization.cpp - reader of quantization_config -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sluice supports weights in e4m3, from files of transformers and vLLM (fp8)
// and of llm-compressor (compressed-tensors). The tensors themselves say which
// of them are quantised and with which scales. The functions here refuse
// settings that would change the result. Activations are not quantised, so it
// does not matter how the file says to quantise them dynamically. Static scales
// of activations do matter, since a model may have been trained with them.
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/Architecture.h"
#include "sluice/Import/Support/Quote.h"

using namespace sluice;
using namespace sluice::importer;

/// Refuses blocks of weights with a common scale unless they are 128 by 128.
static void requireBlocksOf128(Options &options, std::string_view key) {
  if (options.has(key) &&
      options.naturals(key) != std::vector<int64_t>{128, 128})
    options.refuse(key, "only blocks of [128, 128] are supported");
}

static void readFP8(Options &options) {
  options.mustBeText("activation_scheme", "dynamic");
  options.mustBeText("fmt", "e4m3");
  requireBlocksOf128(options, "weight_block_size");
  // scale_fmt says only that scales are powers of two.
  options.ignore({"modules_to_not_convert", "ignored_layers", "scale_fmt"});
}

static void readWeights(Options &options) {
  options.mustBeNumber("num_bits", 8);
  options.mustBeText("type", "float");
  options.mustBeFlag("symmetric", true);
  options.mustBeFlag("dynamic", false);
  std::string strategy = options.text("strategy");
  if (strategy == "block")
    requireBlocksOf128(options, "block_structure");
  else if (strategy != "tensor" && strategy != "channel")
    options.refuse("strategy", quote(strategy) + " is not supported (tensor, "
                                                 "channel and block are)");
  options.ignore({"block_structure", "observer", "observer_kwargs", "actorder",
                  "group_size", "scale_dtype", "zp_dtype"});
}

static void readGroup(Options &group) {
  readWeights(group.table("weights"));
  group.mustBeText("format", "float-quantized");
  if (group.has("input_activations")) {
    Options &activations = group.table("input_activations");
    if (!activations.flag("dynamic", false))
      activations.refuse("dynamic", "scales of activations that were measured "
                                    "before are not supported (only true is)");
    activations.ignoreOthers();
  }
  if (group.has("output_activations"))
    group.refuse("output_activations", "is not supported");
  group.ignore({"targets"});
}

static void readCompressedTensors(Options &options) {
  options.mustBeText("format", "float-quantized");
  if (options.has("kv_cache_scheme"))
    options.refuse("kv_cache_scheme", "is not supported");
  options.table("sparsity_config").mustBeText("format", "dense");
  options.table("sparsity_config").ignoreOthers();
  // These are rotations of the inputs of products.
  if (options.has("transform_config") &&
      !options.table("transform_config").keys().empty())
    options.refuse("transform_config", "is not supported (only {} is)");
  Options &groups = options.table("config_groups");
  if (groups.keys().empty())
    options.refuse("config_groups", "names no weights");
  for (const std::string &key : groups.keys())
    readGroup(groups.table(key));
  options.ignore(
      {"ignore", "quantization_status", "version", "global_compression_ratio"});
}

void importer::readQuantization(Options &options) {
  if (!options.has("quantization_config"))
    return;
  Options &quantization = options.table("quantization_config");
  std::string method = quantization.text("quant_method");
  if (method == "fp8")
    return readFP8(quantization);
  if (method == "compressed-tensors")
    return readCompressedTensors(quantization);
  quantization.refuse("quant_method", quote(method) +
                                          " is not supported (fp8 and "
                                          "compressed-tensors are)");
}
