//===- ModelFiles.h - the opened files of a model -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Presents a GGUF file and a Hugging Face folder in the same way: as files, the
// tensors in them, the decoder's configuration, and the names of the decoder's
// tensors. It does not depend on MLIR.
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
  /// The path of the file, derived from the path that the user gave.
  std::string path;
  std::span<const uint8_t> bytes;
};

/// A tensor of one of the files.
struct StoredTensor {
  std::string name;
  /// The dimensions, outermost first: a matrix of `out` rows of `in` values is
  /// {out, in}.
  std::vector<int64_t> shape;
  /// Empty if the file's type is not supported. E4M3 covers the numbers alone;
  /// their scales are in the tensor "<name>_scale" or "<name>_scale_inv".
  std::optional<Format> format;
  std::string type;
  /// Index into ModelFiles::files.
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

enum class TokenizerKind { GGUF, TokenizerJSON };

/// The file that describes the tokenizer.
struct TokenizerFile {
  size_t file = 0;
  TokenizerKind kind = TokenizerKind::GGUF;
};

/// An opened model. Keeps its files mapped during its lifetime. Movable.
class ModelFiles {
public:
  /// Opens a GGUF file or, if `path` is a folder, a Hugging Face model. Reads
  /// headers only. Fails on a file that its reader refuses and on an
  /// architecture or option that is not supported.
  static Expected<ModelFiles> open(const std::string &path);

  const std::string &path() const { return root; }
  const ModelConfig &config() const { return decoder; }
  const TensorNames &names() const { return tensorNames; }
  const std::vector<SourceFile> &files() const { return opened; }
  const std::vector<StoredTensor> &tensors() const { return stored; }
  const std::optional<TokenizerFile> &tokenizer() const {
    return tokenizerFile;
  }
  /// Returns the tensor called `name`, or null.
  const StoredTensor *find(std::string_view name) const;
  std::span<const uint8_t> bytesOf(const StoredTensor &tensor) const {
    return opened[tensor.file].bytes.subspan(tensor.offset, tensor.bytes);
  }
  /// Returns whether a file may hold a tensor of this name that the model does
  /// not use.
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
  // The reader of the files, which owns their mappings.
  std::shared_ptr<const void> owner;
};

/// Reads the configuration of a Hugging Face model, without its tensors.
/// `place` begins every message. Fails if the model_type is not supported, if
/// an option is unknown, malformed or not supported, or if sizes are
/// impossible.
Expected<ModelConfig> readHuggingFaceConfig(const std::string &place,
                                            const nlohmann::json &config,
                                            const nlohmann::json &generation);

/// Reads the configuration from a GGUF file's metadata, like
/// readHuggingFaceConfig(). The vocabulary is 0 if the file does not give it.
Expected<ModelConfig> readGGUFConfig(const gguf::GGUFFile &file);

} // namespace sluice::importer

#endif // SLUICE_IMPORT_MODEL_MODELFILES_H
