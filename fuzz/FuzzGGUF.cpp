//===- FuzzGGUF.cpp - fuzzes the GGUF reader ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFFile.h"
#include "sluice/Import/Model/ModelFiles.h"

#include <cstdlib>

using namespace sluice;

/// What the reader accepts must lie inside the file; reading all of it makes
/// the sanitizers say so if it does not.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<gguf::GGUFFile> file = gguf::GGUFFile::parse("m", {data, size});
  if (!file)
    return 0;
  uint64_t sum = 0;
  for (const gguf::TensorInfo &tensor : file->tensors())
    for (uint8_t byte : file->tensorBytes(tensor))
      sum += byte;
  for (const gguf::MetadataEntry &entry : file->metadata()) {
    const gguf::MetadataValue &value = entry.value;
    sum += value.asUInt().value_or(0) + value.arraySize();
    sum += value.asString().value_or("").size();
    if (auto integers = value.asInts())
      sum += integers->size();
    if (auto floats = value.asFloats())
      sum += floats->size();
    if (auto bools = value.asBools())
      sum += bools->size();
    if (file->find(entry.key) != &value)
      std::abort();
  }
  Expected<importer::ModelConfig> config = importer::readGGUFConfig(*file);
  if (config && config->architecture.empty())
    std::abort();
  // Keeps the sum from being optimised away.
  volatile uint64_t kept = sum;
  (void)kept;
  return 0;
}
