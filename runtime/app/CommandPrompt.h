//===- CommandPrompt.h - the prompt of a command --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_COMMANDPROMPT_H
#define SLUICE_RUNTIME_APP_COMMANDPROMPT_H

#include "runtime/app/CommandLine.h"
#include "runtime/engine/Engine.h"

#include <vector>

namespace sluice::app {

/// Returns the token ids of the prompt. With `addSpecial`, a text gets the
/// tokens that the tokenizer puts around texts. Fails if there are no tokens,
/// an id is outside of the vocabulary, the context has too little room, a file
/// cannot be read, or there is a text but no tokenizer.
Expected<std::vector<int32_t>> readPrompt(const PromptOptions &options,
                                          const engine::Engine &engine,
                                          bool addSpecial);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_COMMANDPROMPT_H
