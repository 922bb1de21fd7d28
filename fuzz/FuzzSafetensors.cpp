//===- FuzzSafetensors.cpp - fuzzes the safetensors readers ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/ModelFolder.h"
#include "sluice/Import/HuggingFace/SafetensorsFile.h"

#include <cstdlib>

using namespace sluice;

/// A file's tensors must lie inside it; an index's shards inside the folder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (auto file = hf::SafetensorsFile::parse("m", {data, size}))
    for (const hf::SafetensorsTensor &tensor : file->tensors())
      if (tensor.offset > size || tensor.bytes > size - tensor.offset)
        std::abort();
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (auto entries = hf::parseShardIndex(text))
    for (const hf::IndexEntry &entry : *entries)
      if (entry.shard.find('/') != std::string::npos)
        std::abort();
  return 0;
}
