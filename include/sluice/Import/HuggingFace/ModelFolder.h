//===- ModelFolder.h - a Hugging Face model folder ------------------------===//
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

/// Where an index says that a tensor is: its name and a shard's file name.
struct IndexEntry {
  std::string tensor;
  std::string shard;
};

/// Reads the text of a model.safetensors.index.json. A shard's name is a plain
/// file name: one that leaves the folder is refused. Errors carry no path.
Expected<std::vector<IndexEntry>> parseShardIndex(std::string_view text);

/// The files of a Hugging Face model: config.json, and model.safetensors or the
/// shards that model.safetensors.index.json names. Movable.
class ModelFolder {
public:
  /// Reads the configuration. Errors: config.json is missing, a file is
  /// malformed.
  static Expected<ModelFolder> open(const std::string &path);

  /// Opens the tensors' files. Errors: a file is missing or malformed, a tensor
  /// is not in the shard that the index names, or is in a shard without being
  /// in the index.
  Status openShards();

  const std::string &path() const { return folder; }
  std::string configPath() const { return folder + "/config.json"; }

  const nlohmann::json &config() const { return configuration; }
  /// generation_config.json; null where there is none.
  const nlohmann::json &generationConfig() const { return generation; }
  const std::vector<SafetensorsFile> &shards() const { return files; }
  /// tokenizer.json, or nothing where there is none.
  const std::optional<MappedFile> &tokenizer() const { return tokenizerFile; }
  /// The path of a file that describes the tokenizer in a form that is not
  /// read: tokenizer.model, say. Empty where there is none.
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
