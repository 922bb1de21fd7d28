//===- TokenizerJson.h - reads tokenizer.json -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's tokenizer.json and tokenizer_config.json. Everything in them
// that changes ids or text is honoured, or refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
#define SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H

#include "runtime/text/TokenizerSpec.h"

#include <string_view>

namespace sluice::hf {

/// The tokenizer that the two files describe. `configJson` is empty where
/// there is no tokenizer_config.json; it gives the chat template and the tokens
/// that begin and end a text. Whether those are added to a text is up to
/// tokenizer.json's post-processor alone, as in Transformers 5. Errors say
/// which field is wrong or not supported.
Expected<text::TokenizerSpec> parseTokenizerJson(std::string_view tokenizerJson,
                                                 std::string_view configJson);

/// The same from the files of a model's folder. Errors name the file.
Expected<text::TokenizerSpec> readTokenizerJson(const std::string &folder);

} // namespace sluice::hf

#endif // SLUICE_IMPORT_HUGGINGFACE_TOKENIZERJSON_H
