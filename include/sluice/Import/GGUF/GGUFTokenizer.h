//===- GGUFTokenizer.h - reader of a GGUF file's tokenizer ----------------===//
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

/// Returns the tokenizer that the file's `tokenizer.ggml.*` keys describe, of
/// the model "gpt2" (byte-level byte-pair encoding), "llama" (SentencePiece by
/// scores) or "t5" (SentencePiece's unigram). Fails if there is no tokenizer or
/// another model, if the name of the pre-tokenizer is unknown, if lists do not
/// fit each other, or if the description cannot be run; the error names file
/// and key. Adds a line to `warnings`, unless it is null, for each setting of
/// the file that is ignored.
Expected<text::TokenizerSpec>
readTokenizer(const GGUFFile &file,
              std::vector<std::string> *warnings = nullptr);

} // namespace sluice::gguf

#endif // SLUICE_IMPORT_GGUF_GGUFTOKENIZER_H
