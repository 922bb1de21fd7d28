//===- ModelFolder.h - reader of a Hugging Face model folder --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_HUGGINGFACE_MODELFOLDER_H
#define SLUICE_IMPORT_HUGGINGFACE_MODELFOLDER_H

#include "sluice/Import/HuggingFace/SafetensorsFile.h"

#include <nlohmann/json.hpp>

namespace sluice::hf {

/// An entry of a shard index: a tensor's name and the file name of the shard
/// that holds it.
struct IndexEntry {
  std::string tensor;
  std::string shard;
};

/// Reads the text of a model.safetensors.index.json. Fails if a shard's name is
/// not a plain file name, since it could lead out of the folder. Errors do not
/// name the index's path.
Expected<std::vector<IndexEntry>> parseShardIndex(std::string_view text);

/// Holds the files of a Hugging Face model: config.json, and model.safetensors
/// or the shards that model.safetensors.index.json names. Movable.
class ModelFolder {
public:
  /// Reads the configuration. Fails if config.json is missing or a file is
  /// malformed.
  static Expected<ModelFolder> open(const std::string &path);

  /// Opens the tensors' files. Fails if a file is missing or malformed, if a
  /// tensor is not in the shard that the index names, or if a shard has a
  /// tensor that is not in the index.
  Status openShards();

  const std::string &path() const { return folder; }
  std::string configPath() const { return folder + "/config.json"; }

  const nlohmann::json &config() const { return configuration; }
  /// Returns generation_config.json, or null if there is none.
  const nlohmann::json &generationConfig() const { return generation; }
  const std::vector<SafetensorsFile> &shards() const { return files; }
  /// Returns tokenizer.json, or nothing if there is none.
  const std::optional<MappedFile> &tokenizer() const { return tokenizerFile; }
  /// Returns the path of a file that describes the tokenizer in a form that
  /// Sluice does not read, such as tokenizer.model. Empty if there is none.
  std::string otherTokenizer() const;

private:
  ModelFolder() = default;
  Status openIndexedShards(const std::string &indexPath);

  std::string folder;
  nlohmann::json configuration;
  nlohmann::json generation;
  std::vector<SafetensorsFile> files;
  std::optional<MappedFile> tokenizerFile;
};

} // namespace sluice::hf

#endif // SLUICE_IMPORT_HUGGINGFACE_MODELFOLDER_H
