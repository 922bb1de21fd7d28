//===- TokenizerConfig.h - what lies beside a tokenizer.json ------------===//
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

/// Adds to `spec`, which tokenizer.json has made, what the two other files say:
/// tokens that it lacks, the tokens that begin and end a text, and the chat
/// templates. Each text is empty where there is no such file. A token that
/// begins or ends a text and is not in the vocabulary is left out, with a
/// warning, and so is one to add whose description is not right. Errors name
/// file and field.
Status readTokenizerConfig(std::string_view configJson,
                           std::string_view addedTokensJson,
                           text::TokenizerSpec &spec,
                           std::vector<std::string> &warnings);

/// Keeps a template under one of the names that transformers chooses by itself,
/// "default" and "tool_use". Others, such as "rag", are for who asks for them
/// by name, which no request does.
void keepNamedTemplate(std::string_view name, std::string text,
                       text::TokenizerSpec &spec);

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_TOKENIZERCONFIG_H
