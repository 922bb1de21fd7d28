//===- CommandPrompt.h - the tokens a command works on --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_COMMANDPROMPT_H
#define SLUICE_RUNTIME_APP_COMMANDPROMPT_H

#include "runtime/app/Engine.h"

#include <vector>

namespace sluice::app {

/// The prompt's token ids, at least one, all in the vocabulary and no more than
/// the context has room for. With `addSpecial` a text gets the tokens that the
/// tokenizer puts around one. Errors: the opposites, a file that cannot be
/// read, text without a tokenizer.
Expected<std::vector<int32_t>>
readPrompt(const PromptOptions &options, const Engine &engine, bool addSpecial);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_COMMANDPROMPT_H
