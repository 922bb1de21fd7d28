//===- TokenizerDifference.h - what two tokenizers differ in --------------===//
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

/// The first token of a draft's tokenizer that is not the target's of that id,
/// among the ids that both have; empty where there is none. Ids without a text
/// and placeholders, which make a vocabulary as long as its table, are no
/// tokens.
std::string findOtherToken(const text::TokenizerSpec &draft,
                           const text::TokenizerSpec &target);

/// What a draft with rows for `draftRows` ids lacks of the target's tokens;
/// empty where that is nothing.
std::string findMissingTokens(const text::TokenizerSpec &draft,
                              uint64_t draftRows,
                              const text::TokenizerSpec &target);

/// The first thing in which a draft's tokenizer makes other ids of a text, or
/// another text of ids, although the tokens are the target's; empty where there
/// is none. What only the target's decides is not compared: chat template, and
/// which tokens begin and end a text.
std::string findOtherRule(const text::TokenizerSpec &draft,
                          const text::TokenizerSpec &target);

} // namespace sluice

#endif // SLUICE_LIB_DIALECT_SLUICE_TRANSFORMS_TOKENIZERDIFFERENCE_H
