//===- GGUFTokenizer.h - the tokenizer in a GGUF file ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_GGUF_GGUFTOKENIZER_H
#define SLUICE_IMPORT_GGUF_GGUFTOKENIZER_H

#include "runtime/text/TokenizerSpec.h"
#include "sluice/Import/GGUF/GGUFFile.h"

namespace sluice::gguf {

/// The tokenizer that the file's `tokenizer.ggml.*` keys describe: models
/// "gpt2" (byte-level byte-pair encoding), "llama" (SentencePiece by scores)
/// and "t5" (SentencePiece's unigram). Errors name file and key: no tokenizer,
/// another model, a pre-tokenizer whose name is not known, lists that do not
/// fit each other, or a description that cannot be run. `warnings`, where it is
/// not null, gets a line for each thing that the file says and that is left
/// out.
Expected<text::TokenizerSpec>
readTokenizer(const GGUFFile &file,
              std::vector<std::string> *warnings = nullptr);

} // namespace sluice::gguf

#endif // SLUICE_IMPORT_GGUF_GGUFTOKENIZER_H
