//===- Registry.cpp - the architectures that can be imported --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Architectures.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::importer;

std::span<const Architecture *const> importer::architectures() {
  static const Architecture *const all[] = {&llama(), &qwen2(),   &gpt2(),
                                            &gptj(),  &gptNeoX(), &falcon()};
  return all;
}

const Architecture *importer::findGGUFArchitecture(std::string_view name) {
  for (const Architecture *architecture : architectures())
    if (architecture->name == name)
      return architecture;
  return nullptr;
}

const Architecture *
importer::findHuggingFaceArchitecture(std::string_view modelType) {
  for (const Architecture *architecture : architectures())
    if (std::ranges::find(architecture->modelTypes, modelType) !=
        architecture->modelTypes.end())
      return architecture;
  return nullptr;
}

TensorNames importer::ggufTensorNames() {
  return {.tokens = "token_embd",
          .positions = "position_embd",
          .layers = "blk",
          .norm = "attn_norm",
          .norm2 = "ffn_norm",
          .query = "attn_q",
          .key = "attn_k",
          .value = "attn_v",
          .queryKeyValue = "attn_qkv",
          .attentionOutput = "attn_output",
          .gate = "ffn_gate",
          .up = "ffn_up",
          .down = "ffn_down",
          .lastNorm = "output_norm",
          .output = "output",
          .ropeFactors = "rope_freqs.weight"};
}
