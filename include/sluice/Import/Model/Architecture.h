//===- Architecture.h - the models that can be imported -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An architecture is a table: what files call it, what they call its tensors,
// and how to read its options. To add one, write a file like those in
// lib/Import/Architectures and add it to Registry.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_MODEL_ARCHITECTURE_H
#define SLUICE_IMPORT_MODEL_ARCHITECTURE_H

#include "sluice/Import/Model/ModelConfig.h"
#include "sluice/Import/Model/Options.h"

#include <span>
#include <string_view>
#include <vector>

namespace sluice::importer {

/// What files call tensors, without ".weight" and ".bias". Those of layers come
/// after "<layers>.<number>.". Empty: the architecture has no such tensor.
struct TensorNames {
  /// In front of all but the output layer; some files leave it out.
  std::string_view prefix = {};
  std::string_view tokens = {};
  std::string_view positions = {};
  std::string_view layers = {};
  std::string_view norm = {};  // before attention
  std::string_view norm2 = {}; // before the feed-forward layer
  /// The same two where both norm the layer's input, if they are called
  /// something else then.
  std::string_view parallelNorm = {}, parallelNorm2 = {};
  std::string_view query = {}, key = {}, value = {};
  std::string_view queryKeyValue = {};
  std::string_view attentionOutput = {};
  std::string_view gate = {}, up = {}, down = {};
  std::string_view lastNorm = {};
  std::string_view output = {};
  /// Divisors of rope's frequencies, a whole tensor's name.
  std::string_view ropeFactors = {};
  /// Whole names, after the prefix and the layer's number, of tensors that
  /// files may hold and the model does not use.
  std::vector<std::string_view> unused = {};
};

struct Architecture {
  /// Ours, and GGUF's `general.architecture`.
  std::string_view name;
  /// config.json's `model_type`.
  std::vector<std::string_view> modelTypes;
  TensorNames ggufNames;
  TensorNames huggingFaceNames;
  /// Read the keys that only this architecture has, and set its choices. What
  /// all have in common is already there.
  void (*readGGUF)(Options &options, ModelConfig &config);
  void (*readHuggingFace)(Options &options, ModelConfig &config);
};

/// All of them, in the order in which messages list them.
std::span<const Architecture *const> architectures();

/// By `general.architecture` and by `model_type`; null where there is none.
const Architecture *findGGUFArchitecture(std::string_view name);
const Architecture *findHuggingFaceArchitecture(std::string_view modelType);

//===----------------------------------------------------------------------===//
// What descriptions share
//===----------------------------------------------------------------------===//

/// GGUF's tensor names are the same for all architectures.
TensorNames ggufTensorNames();

/// The keys of a config.json's sizes. Empty: the model has no such key.
struct SizeKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view keyValueHeads = "num_key_value_heads";
  std::string_view headDim = "head_dim";
  std::string_view feedForward = "intermediate_size";
  std::string_view context = "max_position_embeddings";
  /// Used where the file does not give it.
  int64_t contextDefault = 2048;
};

/// Reads the sizes. A missing number of key heads is that of heads, a missing
/// head size is hidden / heads, a missing feed-forward size 4 * hidden.
void readSizes(Options &options, ModelConfig &config, const SizeKeys &keys);

/// Reads rope's base and scaling from `rope_parameters`, or from `rope_theta`
/// and `rope_scaling`. `base` is used where the file gives none.
void readRope(Options &options, ModelConfig &config, double base = 10000);

/// Reads the part of a head that is rotated: `rope_parameters`'
/// partial_rotary_factor, or `key`.
void readPartialRotary(Options &options, ModelConfig &config,
                       std::string_view key, double fallback);

/// Refuses a partial_rotary_factor other than 1.
void requireFullRotary(Options &options);

/// Reads an activation's name as Hugging Face spells it.
Activation readActivation(Options &options, std::string_view key,
                          std::string_view fallback);

/// Refuses what quantization_config says of weights that cannot be read, and of
/// activations that have scales of their own.
void readQuantization(Options &options);

/// Reads tie_word_embeddings.
void readTied(Options &options, ModelConfig &config, bool fallback);

/// Reads what all GGUF architectures have in common. To be called for each
/// before its own keys.
void readCommonGGUF(Options &options, ModelConfig &config);
/// Reads rope's keys of a GGUF file.
void readRopeGGUF(Options &options, ModelConfig &config);
/// The same for config.json.
void readCommonHuggingFace(Options &options, ModelConfig &config);

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_ARCHITECTURE_H
