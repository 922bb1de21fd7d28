//===- NamedPatterns.h - pre-tokenizers that GGUF files name --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_GGUF_TOKENIZER_NAMEDPATTERNS_H
#define SLUICE_LIB_IMPORT_GGUF_TOKENIZER_NAMEDPATTERNS_H

#include "runtime/text/TokenizerSpec.h"

#include <string_view>

namespace sluice::gguf {

/// The settings that a name in `tokenizer.ggml.pre` stands for.
struct NamedPreTokenizer {
  std::vector<text::PreTokenizerStep> steps;
  std::vector<text::NormalizerStep> normalizer;
  bool ignoreMerges = false;
  bool addsBeginOfText = false; ///< if the file does not say
};

/// Returns the pre-tokenizer called `name`, with the steps of the
/// tokenizer.json from which the name comes, or nothing if the name is unknown.
/// An empty name stands for files that are older than these names.
std::optional<NamedPreTokenizer> findPreTokenizer(std::string_view name);

} // namespace sluice::gguf

#endif // SLUICE_LIB_IMPORT_GGUF_TOKENIZER_NAMEDPATTERNS_H
