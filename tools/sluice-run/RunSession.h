//===- RunSession.h - a module that is ready to be executed ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_RUNSESSION_H
#define SLUICE_TOOLS_SLUICE_RUN_RUNSESSION_H

#include "ParsedModule.h"
#include "RunOptions.h"
#include "runtime/text/Tokenizer.h"
#include "sluice/Interpreter/Interpreter.h"

#include <memory>

namespace sluice::run {

/// Holds a parsed module and all that is needed to execute it.
class RunSession {
public:
  /// Opens the module's files and reads its tokenizer. Fails on an op of a
  /// phase that is not interpreted and on a file that is missing or wrong. An
  /// error is one line.
  static Expected<std::unique_ptr<RunSession>> open(ParsedModule parsed,
                                                    const RunOptions &options);

  interpreter::Interpreter &interpreter() { return *runner; }
  /// Returns the draft's interpreter, or null if the module has no draft.
  interpreter::Interpreter *draft() { return drafter ? &*drafter : nullptr; }
  /// Returns the tokenizer, or null if the model has none.
  const text::Tokenizer *tokenizer() const { return words ? &*words : nullptr; }
  int64_t contextLength() const { return context; }
  int64_t vocabSize() const { return vocabulary; }

  /// Returns a request's prompt as token ids: at least one, at most as many as
  /// the context has, and all in the vocabulary. Fails on other prompts, on a
  /// file that cannot be read, and on text if there is no tokenizer. A text to
  /// be scored gets no begin or end tokens.
  Expected<std::vector<int32_t>> readPrompt(const RunOptions &options,
                                            size_t request) const;

private:
  RunSession() = default;
  Status loadTokenizer();
  Expected<std::vector<int32_t>> encodePrompt(const RunOptions &options,
                                              size_t request) const;

  ParsedModule parsed;
  std::optional<interpreter::Interpreter> runner;
  std::optional<interpreter::Interpreter> drafter;
  std::optional<text::Tokenizer> words;
  int64_t context = 0;
  int64_t vocabulary = 0;
};

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_RUNSESSION_H
