//===- ModelFiles.cpp - the opened files of a model -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/ModelFiles.h"

#include "sluice/Import/GGUF/GGUFFile.h"
#include "sluice/Import/HuggingFace/ModelFolder.h"
#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sys/stat.h>

using namespace sluice;
using namespace sluice::importer;

Expected<ModelFiles> ModelFiles::open(const std::string &path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return openHuggingFace(path);
  return openGGUF(path);
}

void ModelFiles::addTensor(StoredTensor tensor) {
  index.emplace(tensor.name, stored.size());
  stored.push_back(std::move(tensor));
}

const StoredTensor *ModelFiles::find(std::string_view name) const {
  auto found = index.find(std::string(name));
  return found == index.end() ? nullptr : &stored[found->second];
}

Expected<ModelFiles> ModelFiles::openGGUF(const std::string &path) {
  Expected<gguf::GGUFFile> opened = gguf::GGUFFile::open(path);
  if (!opened)
    return opened.status();
  auto file = std::make_shared<gguf::GGUFFile>(opened.take());
  Expected<ModelConfig> config = readGGUFConfig(*file);
  if (!config)
    return config.status();

  ModelFiles model;
  model.root = path;
  model.owner = file;
  model.decoder = config.take();
  model.tensorNames =
      findGGUFArchitecture(model.decoder.architecture)->ggufNames;
  model.opened.push_back({path, file->bytes()});
  for (const gguf::TensorInfo &info : file->tensors())
    model.addTensor({.name = std::string(info.name),
                     .shape = {info.dims.rbegin(), info.dims.rend()},
                     .format = info.format,
                     .type = std::string(formatInfo(info.format).name),
                     .offset = info.offset,
                     .bytes = info.bytes});

  const TensorNames &names = model.tensorNames;
  if (!names.parallelNorm.empty() &&
      model.decoder.residual == Residual::ParallelOneNorm &&
      model.find(std::string(names.layers) + ".0." +
                 std::string(names.parallelNorm) + ".weight"))
    model.decoder.residual = Residual::ParallelTwoNorms;

  const gguf::MetadataValue *tokens = file->find("tokenizer.ggml.tokens");
  if (file->find("tokenizer.ggml.model"))
    model.tokenizerFile = {0, TokenizerKind::GGUF};
  SLUICE_RETURN_IF_ERROR(
      model.settleVocabulary(path, tokens ? tokens->arraySize() : 0));
  return model;
}

/// Determines the size of the vocabulary from the options, else from the
/// tokenizer, else from the token table.
Status ModelFiles::settleVocabulary(const std::string &path, uint64_t tokens) {
  const StoredTensor *table = find(std::string(tensorNames.tokens) + ".weight");
  if (decoder.vocabulary == 0)
    decoder.vocabulary = static_cast<int64_t>(tokens);
  if (decoder.vocabulary == 0 && table)
    decoder.vocabulary = table->shape[0];
  decoder.dropTokensOutside(path);
  return decoder.validate().withContext(path);
}

Expected<ModelFiles> ModelFiles::openHuggingFace(const std::string &path) {
  Expected<hf::ModelFolder> opened = hf::ModelFolder::open(path);
  if (!opened)
    return opened.status();
  auto folder = std::make_shared<hf::ModelFolder>(opened.take());
  // A model that cannot be imported is refused before its tensors are opened.
  Expected<ModelConfig> config = readHuggingFaceConfig(
      folder->configPath(), folder->config(), folder->generationConfig());
  if (!config)
    return config.status();
  SLUICE_RETURN_IF_ERROR(folder->openShards());

  ModelFiles model;
  model.root = folder->path();
  model.owner = folder;
  model.decoder = config.take();
  model.decoder.name = model.root.substr(model.root.find_last_of('/') + 1);
  for (const hf::SafetensorsFile &shard : folder->shards()) {
    for (const hf::SafetensorsTensor &tensor : shard.tensors()) {
      if (const StoredTensor *other = model.find(tensor.name))
        return failure(shard.path(), ": tensor ", quote(tensor.name),
                       ": is in ", model.opened[other->file].path, " as well");
      model.addTensor({.name = tensor.name,
                       .shape = tensor.shape,
                       .format = tensor.format,
                       .type = tensor.dtype,
                       .file = model.opened.size(),
                       .offset = tensor.offset,
                       .bytes = tensor.bytes});
    }
    model.opened.push_back({shard.path(), shard.bytes()});
  }
  if (const std::optional<MappedFile> &tokenizer = folder->tokenizer()) {
    model.tokenizerFile = {model.opened.size(), TokenizerKind::TokenizerJSON};
    model.opened.push_back({tokenizer->path(), tokenizer->bytes()});
  } else if (std::string other = folder->otherTokenizer(); !other.empty()) {
    model.decoder.warnings.push_back(
        other + ": this form of a tokenizer is not read, only tokenizer.json "
                "is; the model takes and gives token ids");
  }

  TensorNames &names = model.tensorNames;
  names = findHuggingFaceArchitecture(
              folder->config()["model_type"].get_ref<const std::string &>())
              ->huggingFaceNames;
  // Files of a model without an output layer leave the prefix out.
  std::string table = std::string(names.tokens) + ".weight";
  if (!model.find(std::string(names.prefix) + table) && model.find(table))
    names.prefix = "";
  return model;
}

bool ModelFiles::mayBeUnused(std::string_view name) const {
  // "<prefix><layers>.<number>.<unused>"
  std::string front =
      std::string(tensorNames.prefix) + std::string(tensorNames.layers) + ".";
  if (!name.starts_with(front))
    return false;
  name.remove_prefix(front.size());
  size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || name[digits] != '.')
    return false;
  return std::ranges::find(tensorNames.unused, name.substr(digits + 1)) !=
         tensorNames.unused.end();
}
