//===- TokenizerJson.h - reader of tokenizer.json -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads Hugging Face's tokenizer.json, and the files that add to it:
// tokenizer_config.json, added_tokens.json and chat templates. Every setting
// that changes ids or text is either applied or refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
#define SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H

#include "runtime/text/TokenizerSpec.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::hf {

/// The texts of a tokenizer's files.
struct TokenizerTexts {
  std::string_view tokenizer; ///< tokenizer.json
  /// tokenizer_config.json, or empty if there is none. It gives chat templates
  /// and the tokens that begin and end a text. Whether these tokens are added
  /// to a text depends on tokenizer.json's post-processor alone, as in
  /// Transformers 5.
  std::string_view config = {};
  /// added_tokens.json, or empty if there is none.
  std::string_view addedTokens = {};
};

/// Returns the tokenizer that the files describe. Adds a line to `warnings`,
/// unless it is null, for each setting of the files that is ignored. An error
/// names the field that is wrong or not supported.
Expected<text::TokenizerSpec>
parseTokenizerJson(const TokenizerTexts &texts,
                   std::vector<std::string> *warnings = nullptr);

/// Reads the files from a model's folder and parses them with
/// parseTokenizerJson(). Errors and warnings name the file.
Expected<text::TokenizerSpec>
readTokenizerJson(const std::string &folder,
                  std::vector<std::string> *warnings = nullptr);

} // namespace sluice::hf

#endif // SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
