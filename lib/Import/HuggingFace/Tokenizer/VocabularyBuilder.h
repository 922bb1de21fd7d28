//===- VocabularyBuilder.h - gathers a vocabulary that may have holes -----===//
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

/// Takes tokens in any order, each with its id, and makes the list of them.
/// Needs memory by how many tokens there are, whatever their ids.
class VocabularyBuilder {
public:
  /// Errors: the spelling is there already, or the id is past 2^31.
  Status add(uint64_t id, text::Token token);

  std::optional<text::TokenId> find(const std::string &text) const;

  /// The tokens by id. Errors: two tokens have one id, or an id between others
  /// has no token.
  Expected<std::vector<text::Token>> take();

private:
  std::vector<std::pair<text::TokenId, text::Token>> tokens; // as they came
  std::unordered_map<std::string, text::TokenId> ids;
};

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_VOCABULARYBUILDER_H
