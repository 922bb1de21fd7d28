//===- TokenizerConfig.h - reader of the files beside tokenizer.json ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_TOKENIZERCONFIG_H
#define SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_TOKENIZERCONFIG_H

#include "runtime/text/TokenizerSpec.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::hf {

/// Completes `spec`, which was made from tokenizer.json, from two other files:
/// adds missing tokens, the tokens that begin and end a text, and the chat
/// templates. The text of a file that does not exist is empty. Leaves out, with
/// a warning, a token that begins or ends a text and is not in the vocabulary,
/// and an added token whose description is wrong. Errors name file and field.
Status readTokenizerConfig(std::string_view configJson,
                           std::string_view addedTokensJson,
                           text::TokenizerSpec &spec,
                           std::vector<std::string> &warnings);

/// Keeps a template that has one of the names that transformers chooses by
/// itself, "default" and "tool_use". Templates with other names, such as "rag",
/// are ignored, since no request can ask for one by name.
void keepNamedTemplate(std::string_view name, std::string text,
                       text::TokenizerSpec &spec);

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_TOKENIZERCONFIG_H
