//===- Steps.h - the steps of a tokenizer.json around its model -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_STEPS_H
#define SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_STEPS_H

#include "runtime/text/TokenizerSpec.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::hf {

/// These append the steps of `value`, a stage of tokenizer.json at `place`, to
/// the description. A Sequence is replaced by its steps. Errors name the step
/// or field that is wrong or not supported.
Status readNormalizer(const nlohmann::json &value, const std::string &place,
                      text::TokenizerSpec &spec);
Status readPreTokenizer(const nlohmann::json &value, const std::string &place,
                        text::TokenizerSpec &spec);
Status readDecoder(const nlohmann::json &value, const std::string &place,
                   text::TokenizerSpec &spec);

/// Puts the ids of a post-processor around those that `spec` has already.
Status readPostProcessor(const nlohmann::json &value, const std::string &place,
                         text::TokenizerSpec &spec);

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_STEPS_H
