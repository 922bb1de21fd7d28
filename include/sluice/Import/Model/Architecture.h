//===- Architecture.h - the architectures that can be imported ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the model architectures that Sluice can import. An architecture is
// a table of its names and its tensors' names in files, and of functions that
// read its options. To add one, write a file like those in
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

/// The names of tensors in files, without ".weight" and ".bias". The name of a
/// layer's tensor follows "<layers>.<number>.". A name is empty if the
/// architecture has no such tensor.
struct TensorNames {
  /// The prefix of all names except the output layer's. Some files leave it
  /// out.
  std::string_view prefix = {};
  std::string_view tokens = {};
  std::string_view positions = {};
  std::string_view layers = {};
  std::string_view norm = {};  // before attention
  std::string_view norm2 = {}; // before the feed-forward layer
  /// The names of the two norms in models that apply both to the layer's input,
  /// if those models use other names.
  std::string_view parallelNorm = {}, parallelNorm2 = {};
  std::string_view query = {}, key = {}, value = {};
  std::string_view queryKeyValue = {};
  std::string_view attentionOutput = {};
  std::string_view gate = {}, up = {}, down = {};
  std::string_view lastNorm = {};
  std::string_view output = {};
  /// The full name of the tensor with the divisors of rope's frequencies.
  std::string_view ropeFactors = {};
  /// Full names, after the prefix and the layer's number, of tensors that files
  /// may hold although the model does not use them.
  std::vector<std::string_view> unused = {};
};

struct Architecture {
  /// The name in Sluice and in GGUF's `general.architecture`.
  std::string_view name;
  /// The names in config.json's `model_type`.
  std::vector<std::string_view> modelTypes;
  TensorNames ggufNames;
  TensorNames huggingFaceNames;
  /// These read the keys that only this architecture has and set its choices.
  /// The keys that all architectures share have been read before.
  void (*readGGUF)(Options &options, ModelConfig &config);
  void (*readHuggingFace)(Options &options, ModelConfig &config);
};

/// Returns all architectures, in the order in which messages list them.
std::span<const Architecture *const> architectures();

/// These find an architecture by `general.architecture` and by `model_type`.
/// They return null if there is none.
const Architecture *findGGUFArchitecture(std::string_view name);
const Architecture *findHuggingFaceArchitecture(std::string_view modelType);

//===----------------------------------------------------------------------===//
// Helpers that architectures share
//===----------------------------------------------------------------------===//

/// Returns GGUF's tensor names, which are the same for all architectures.
TensorNames ggufTensorNames();

/// The keys of a model's sizes in config.json. A key is empty if the model has
/// none.
struct SizeKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view keyValueHeads = "num_key_value_heads";
  std::string_view headDim = "head_dim";
  std::string_view feedForward = "intermediate_size";
  std::string_view context = "max_position_embeddings";
  /// The context if the file does not give it.
  int64_t contextDefault = 2048;
};

/// Reads the sizes. The number of key heads defaults to that of heads, the head
/// size to hidden / heads, and the feed-forward size to 4 * hidden.
void readSizes(Options &options, ModelConfig &config, const SizeKeys &keys);

/// Reads rope's base and scaling from `rope_parameters`, or from `rope_theta`
/// and `rope_scaling`. `base` is the default base.
void readRope(Options &options, ModelConfig &config, double base = 10000);

/// Reads the share of a head that is rotated from `rope_parameters`'
/// partial_rotary_factor, or from `key`.
void readPartialRotary(Options &options, ModelConfig &config,
                       std::string_view key, double fallback);

/// Refuses a partial_rotary_factor other than 1.
void requireFullRotary(Options &options);

/// Reads an activation's name as Hugging Face spells it.
Activation readActivation(Options &options, std::string_view key,
                          std::string_view fallback);

/// Refuses a quantization_config with weights that cannot be read or with
/// scales for activations.
void readQuantization(Options &options);

/// Reads tie_word_embeddings.
void readTied(Options &options, ModelConfig &config, bool fallback);

/// Reads the keys that all GGUF architectures share. Call it before the
/// architecture's own readGGUF().
void readCommonGGUF(Options &options, ModelConfig &config);
/// Reads rope's keys of a GGUF file.
void readRopeGGUF(Options &options, ModelConfig &config);
/// Reads the keys of config.json that all architectures share. Call it before
/// the architecture's own readHuggingFace().
void readCommonHuggingFace(Options &options, ModelConfig &config);

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_ARCHITECTURE_H
