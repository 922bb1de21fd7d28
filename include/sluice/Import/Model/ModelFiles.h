//===- ModelFiles.h - a model's files, opened and understood --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a GGUF file and a Hugging Face folder have in common: files, tensors in
// them, a decoder's configuration, and the names under which the decoder's
// tensors are found. Nothing here knows MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_MODEL_MODELFILES_H
#define SLUICE_IMPORT_MODEL_MODELFILES_H

#include "runtime/base/MappedFile.h"
#include "runtime/formats/BlockFormat.h"
#include "sluice/Import/Model/Architecture.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace sluice::importer {

/// A mapped file of the model.
struct SourceFile {
  /// As the user's path leads to it.
  std::string path;
  std::span<const uint8_t> bytes;
};

/// A tensor of one of the files.
struct StoredTensor {
  std::string name;
  /// Outermost first: a matrix of `out` rows of `in` values is {out, in}.
  std::vector<int64_t> shape;
  /// Nothing where `type`, as its file calls it, is not supported. E4M3:
  /// numbers alone; their scales are the tensor called "<name>_scale" or
  /// "<name>_scale_inv".
  std::optional<Format> format;
  std::string type;
  /// Index into ModelFiles::files.
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

enum class TokenizerKind { GGUF, TokenizerJSON };

/// Where the tokenizer is described.
struct TokenizerFile {
  size_t file = 0;
  TokenizerKind kind = TokenizerKind::GGUF;
};

/// An opened model. Its files stay mapped while it lives; it can be moved.
class ModelFiles {
public:
  /// Opens a GGUF file or, where `path` is a folder, a Hugging Face model.
  /// Errors: everything that the readers refuse, an architecture or an option
  /// that is not supported. Reads headers only.
  static Expected<ModelFiles> open(const std::string &path);

  const std::string &path() const { return root; }
  const ModelConfig &config() const { return decoder; }
  const TensorNames &names() const { return tensorNames; }
  const std::vector<SourceFile> &files() const { return opened; }
  const std::vector<StoredTensor> &tensors() const { return stored; }
  const std::optional<TokenizerFile> &tokenizer() const {
    return tokenizerFile;
  }
  /// The tensor called `name`, or null.
  const StoredTensor *find(std::string_view name) const;
  std::span<const uint8_t> bytesOf(const StoredTensor &tensor) const {
    return opened[tensor.file].bytes.subspan(tensor.offset, tensor.bytes);
  }
  /// Whether a file may hold that tensor without the model using it.
  bool mayBeUnused(std::string_view name) const;

private:
  ModelFiles() = default;
  static Expected<ModelFiles> openGGUF(const std::string &path);
  static Expected<ModelFiles> openHuggingFace(const std::string &path);
  void addTensor(StoredTensor tensor);
  Status settleVocabulary(const std::string &path, uint64_t tokens);

  std::string root;
  ModelConfig decoder;
  TensorNames tensorNames;
  std::vector<SourceFile> opened;
  std::vector<StoredTensor> stored;
  std::unordered_map<std::string, size_t> index;
  std::optional<TokenizerFile> tokenizerFile;
  // The reader that owns the mappings.
  std::shared_ptr<const void> owner;
};

/// Reads the configuration of a Hugging Face model, without its tensors.
/// `place` begins every message. Errors: not a supported model_type, an option
/// that is unknown, malformed or not supported, sizes that are impossible.
Expected<ModelConfig> readHuggingFaceConfig(const std::string &place,
                                            const nlohmann::json &config,
                                            const nlohmann::json &generation);

/// The same for a GGUF file's metadata. The vocabulary is 0 where the file does
/// not give it.
Expected<ModelConfig> readGGUFConfig(const gguf::GGUFFile &file);

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_MODELFILES_H
