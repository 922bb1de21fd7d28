//===- TokenizerJson.h - reads tokenizer.json -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's tokenizer.json, and what tokenizer_config.json,
// added_tokens.json and files of chat templates add to it. Everything in them
// that changes ids or text is honoured, or refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
#define SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H

#include "runtime/text/TokenizerSpec.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::hf {

/// What the files hold.
struct TokenizerTexts {
  std::string_view tokenizer; ///< tokenizer.json
  /// tokenizer_config.json, which gives chat templates and the tokens that
  /// begin and end a text; empty: there is none. Whether those are added to a
  /// text is up to tokenizer.json's post-processor alone, as in Transformers 5.
  std::string_view config = {};
  /// added_tokens.json; empty: there is none.
  std::string_view addedTokens = {};
};

/// The tokenizer that the files describe. `warnings`, where it is not null,
/// gets a line for each thing that they say and that is left out. Errors say
/// which field is wrong or not supported.
Expected<text::TokenizerSpec>
parseTokenizerJson(const TokenizerTexts &texts,
                   std::vector<std::string> *warnings = nullptr);

/// The same from the files of a model's folder. Errors and warnings name the
/// file.
Expected<text::TokenizerSpec>
readTokenizerJson(const std::string &folder,
                  std::vector<std::string> *warnings = nullptr);

} // namespace sluice::hf

#endif // SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
