//===- TokenizerDifference.h - differences of two tokenizers --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_TOKENIZERDIFFERENCE_H
#define SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_TOKENIZERDIFFERENCE_H

#include "runtime/text/TokenizerSpec.h"

#include <string>

namespace sluice {

/// Returns a description of the first token of a draft's tokenizer that differs
/// from the target's token of the same id, among the ids that both have. Empty
/// if there is none. Ids without a text do not count as tokens, and neither do
/// placeholders, which pad a vocabulary to the length of its table.
std::string findOtherToken(const text::TokenizerSpec &draft,
                           const text::TokenizerSpec &target);

/// Returns a description of the target's tokens for which a draft with
/// `draftRows` rows has none. Empty if there are none.
std::string findMissingTokens(const text::TokenizerSpec &draft,
                              uint64_t draftRows,
                              const text::TokenizerSpec &target);

/// Returns a description of the first rule by which a draft's tokenizer makes
/// other ids of a text, or another text of ids, than the target's with the same
/// tokens. Empty if there is none. The chat template and the tokens that begin
/// and end a text are not compared, since only the target's are used.
std::string findOtherRule(const text::TokenizerSpec &draft,
                          const text::TokenizerSpec &target);

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_TOKENIZERDIFFERENCE_H
