//===- ReadConfig.cpp - reader of a decoder's configuration ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFFile.h"
#include "sluice/Import/Model/ModelFiles.h"
#include "sluice/Import/Support/Quote.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

using namespace sluice;
using namespace sluice::importer;
using nlohmann::json;

namespace {

std::string supportedModelTypes() {
  std::string list;
  for (const Architecture *architecture : architectures())
    for (std::string_view type : architecture->modelTypes)
      list += (list.empty() ? "" : ", ") + std::string(type);
  return list;
}

std::string supportedArchitectures() {
  std::string list;
  for (const Architecture *architecture : architectures())
    list += (list.empty() ? "" : ", ") + std::string(architecture->name);
  return list;
}

/// Returns the last part of a path, for a model without a name.
std::string lastComponent(std::string_view path) {
  size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path
                                                     : path.substr(slash + 1));
}

/// Reads the tokens that end a text from the tokenizer's metadata.
Status readEndTokens(const gguf::GGUFFile &file, ModelConfig &config) {
  for (std::string_view key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id"}) {
    Expected<std::optional<uint64_t>> token = file.uintValue(key);
    if (!token)
      return token.status();
    if (!*token)
      continue;
    auto number = static_cast<int64_t>(
        std::min<uint64_t>(**token, std::numeric_limits<int64_t>::max()));
    if (std::ranges::find(config.eosTokens, number) == config.eosTokens.end())
      config.eosTokens.push_back(number);
  }
  return {};
}

/// Refuses files that hold anything but one whole model.
Status checkFileKind(const gguf::GGUFFile &file) {
  Expected<std::optional<uint64_t>> splits = file.uintValue("split.count");
  if (!splits)
    return splits.status();
  if (splits->value_or(1) > 1)
    return failure(file.path(), ": split.count: a model split over ", **splits,
                   " files is not supported");
  Expected<std::optional<std::string_view>> type =
      file.stringValue("general.type");
  if (!type)
    return type.status();
  if (type->value_or("model") != "model")
    return failure(file.path(), ": general.type: ", quote(**type),
                   " is not a model");
  return {};
}

} // namespace

Expected<ModelConfig> importer::readHuggingFaceConfig(const std::string &place,
                                                      const json &config,
                                                      const json &generation) {
  Options options = Options::fromJSON(place, config);
  ModelConfig result;
  std::string type = options.text("model_type");
  const Architecture *architecture = findHuggingFaceArchitecture(type);
  if (!architecture && !type.empty())
    return failure(place, ": model_type ", quote(type), " is not supported (",
                   supportedModelTypes(), " are)");
  if (!architecture)
    return options.finish();

  result.architecture = architecture->name;
  readCommonHuggingFace(options, result);
  architecture->readHuggingFace(options, result);
  if (generation.is_object()) {
    // If both files have end-of-text tokens, generation uses those of this one.
    Options more = Options::fromJSON(
        place.substr(0, place.find_last_of('/') + 1) + "generation_config.json",
        json{{"eos_token_id", generation.value("eos_token_id", json())}});
    if (more.has("eos_token_id"))
      result.eosTokens = more.tokenIds("eos_token_id");
    SLUICE_RETURN_IF_ERROR(more.finish());
  }
  SLUICE_RETURN_IF_ERROR(options.finish());
  result.dropTokensOutside(place);
  if (Status s = result.validate(); !s.ok())
    return s.withContext(place);
  return result;
}

Expected<ModelConfig> importer::readGGUFConfig(const gguf::GGUFFile &file) {
  SLUICE_RETURN_IF_ERROR(checkFileKind(file));
  Expected<std::optional<std::string_view>> name =
      file.stringValue("general.architecture");
  if (!name)
    return name.status();
  if (!*name)
    return failure(file.path(), ": general.architecture: missing");
  const Architecture *architecture = findGGUFArchitecture(**name);
  if (!architecture)
    return failure(file.path(), ": general.architecture ", quote(**name),
                   " is not supported (", supportedArchitectures(), " are)");

  ModelConfig result;
  result.architecture = architecture->name;
  Expected<std::optional<std::string_view>> title =
      file.stringValue("general.name");
  if (!title)
    return title.status();
  result.name = std::string(title->value_or(lastComponent(file.path())));
  SLUICE_RETURN_IF_ERROR(readEndTokens(file, result));

  Options options =
      Options::fromGGUF(file, std::string(architecture->name) + ".");
  readCommonGGUF(options, result);
  architecture->readGGUF(options, result);
  SLUICE_RETURN_IF_ERROR(options.finish());
  return result;
}
