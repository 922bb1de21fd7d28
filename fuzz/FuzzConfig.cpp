//===- FuzzConfig.cpp - fuzzes the reader of config.json ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/ModelFiles.h"
#include "sluice/Import/Support/JSON.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::importer;

/// A configuration that is accepted has sizes that a builder can rely on.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<nlohmann::json> json =
      parseJSON({reinterpret_cast<const char *>(data), size});
  if (!json || !json->is_object())
    return 0;
  Expected<ModelConfig> config = readHuggingFaceConfig("m", *json, *json);
  if (!config) {
    if (config.status().message().find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  if (config->hidden <= 0 || config->heads % config->keyValueHeads != 0 ||
      (!config->windows.empty() &&
       int64_t(config->windows.size()) != config->layers))
    std::abort();
  return 0;
}
