//===- ModelFolder.cpp - reader of a Hugging Face model folder ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/ModelFolder.h"

#include "sluice/Import/Support/JSON.h"
#include "sluice/Import/Support/Quote.h"

#include <map>
#include <set>
#include <sys/stat.h>

using namespace sluice;
using namespace sluice::hf;
using nlohmann::json;

namespace {

bool exists(const std::string &path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0;
}

bool isPlainFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Expected<json> readObject(const std::string &path) {
  // Configurations are a few kilobytes; an index has a line for each tensor.
  Expected<json> value = readJSONFile(path, uint64_t(64) << 20);
  if (value && !value->is_object())
    return failure(path, ": not a JSON object");
  return value;
}

Expected<std::vector<IndexEntry>> indexEntries(const json &index) {
  auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object())
    return failure("weight_map: missing, or not a JSON object");
  std::vector<IndexEntry> entries;
  for (const auto &item : map->items()) {
    if (!item.value().is_string())
      return failure("weight_map: ", quote(item.key()),
                     " is not mapped to a file name");
    const auto &shard = item.value().get_ref<const std::string &>();
    if (!isPlainFileName(shard))
      return failure("weight_map: ", quote(item.key()), ": shard ",
                     quote(shard), " is not the name of a file in the folder");
    entries.push_back({item.key(), shard});
  }
  return entries;
}

} // namespace

Expected<std::vector<IndexEntry>> hf::parseShardIndex(std::string_view text) {
  Expected<json> index = parseJSON(text);
  if (!index)
    return index.status();
  return indexEntries(*index);
}

Expected<ModelFolder> ModelFolder::open(const std::string &path) {
  ModelFolder model;
  model.folder = path;
  while (model.folder.size() > 1 && model.folder.back() == '/')
    model.folder.pop_back();
  Expected<json> config = readObject(model.configPath());
  if (!config)
    return config.status();
  model.configuration = config.take();

  std::string generationPath = model.folder + "/generation_config.json";
  if (exists(generationPath)) {
    Expected<json> generation = readObject(generationPath);
    if (!generation)
      return generation.status();
    model.generation = generation.take();
  }
  std::string tokenizerPath = model.folder + "/tokenizer.json";
  if (exists(tokenizerPath)) {
    Expected<MappedFile> tokenizer = MappedFile::open(tokenizerPath);
    if (!tokenizer)
      return tokenizer.status();
    model.tokenizerFile = tokenizer.take();
  }
  return model;
}

std::string ModelFolder::otherTokenizer() const {
  // SentencePiece's files have many names. Among the others, tekken.json is
  // Mistral's, vocab.json GPT-2's, vocab.txt BERT's, tiktoken.model Kimi's,
  // qwen.tiktoken Qwen's and tokenizer.tok.json Grok's.
  for (const char *name :
       {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
        "sentencepiece.model", "tekken.json", "vocab.json", "vocab.txt",
        "tiktoken.model", "qwen.tiktoken", "tokenizer.tok.json"})
    if (std::string path = folder + "/" + name; exists(path))
      return path;
  return {};
}

Status ModelFolder::openShards() {
  std::string single = folder + "/model.safetensors";
  std::string index = folder + "/model.safetensors.index.json";
  if (!exists(single) && exists(index))
    return openIndexedShards(index);
  if (!exists(single) && exists(folder + "/pytorch_model.bin"))
    return failure(folder, "/pytorch_model.bin: PyTorch files are not "
                           "supported: save the model as safetensors");
  Expected<SafetensorsFile> file = SafetensorsFile::open(single);
  if (!file)
    return file.status();
  files.push_back(file.take());
  return {};
}

Status ModelFolder::openIndexedShards(const std::string &indexPath) {
  Expected<json> index = readObject(indexPath);
  if (!index)
    return index.status();
  Expected<std::vector<IndexEntry>> entries = indexEntries(*index);
  if (!entries)
    return entries.status().withContext(indexPath);

  std::map<std::string, std::set<std::string>> tensorsOf;
  for (IndexEntry &entry : *entries)
    tensorsOf[entry.shard].insert(std::move(entry.tensor));
  for (auto &[shard, expected] : tensorsOf) {
    Expected<SafetensorsFile> file =
        SafetensorsFile::open(folder + "/" + shard);
    if (!file)
      return file.status();
    for (const SafetensorsTensor &tensor : file->tensors())
      if (expected.erase(tensor.name) == 0)
        return failure(file->path(), ": tensor ", quote(tensor.name),
                       ": the index does not say that it is in this file");
    if (!expected.empty())
      return failure(file->path(), ": tensor ", quote(*expected.begin()),
                     ": missing, though the index says that it is in this "
                     "file");
    files.push_back(file.take());
  }
  if (files.empty())
    return failure(indexPath, ": weight_map: names no tensor");
  return {};
}
