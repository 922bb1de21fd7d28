//===- VocabularyBuilder.h - builder of a vocabulary ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_VOCABULARYBUILDER_H
#define SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_VOCABULARYBUILDER_H

#include "runtime/text/TokenizerSpec.h"

#include <unordered_map>

namespace sluice::hf {

/// Collects tokens with their ids, in any order, and makes the vocabulary. Its
/// memory depends on the number of tokens and not on their ids.
class VocabularyBuilder {
public:
  /// Adds a token. Fails if there is a token with the same text already, or if
  /// the id does not fit into 31 bits.
  Status add(uint64_t id, text::Token token);

  std::optional<text::TokenId> find(const std::string &text) const;

  /// Returns the tokens by id. Fails if two tokens have the same id, or if an
  /// id below another has no token.
  Expected<std::vector<text::Token>> take();

private:
  std::vector<std::pair<text::TokenId, text::Token>> tokens; // as added
  std::unordered_map<std::string, text::TokenId> ids;
};

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_VOCABULARYBUILDER_H
