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

/// A parsed module with everything that executing it needs.
class RunSession {
public:
  /// Opens the module's files and reads its tokenizer. Errors are one line:
  /// an op of a phase that is not interpreted, or what a file
  /// lacks.
  static Expected<std::unique_ptr<RunSession>> open(ParsedModule parsed,
                                                    const RunOptions &options);

  interpreter::Interpreter &interpreter() { return *runner; }
  /// Null when the module has none.
  interpreter::Interpreter *draft() { return drafter ? &*drafter : nullptr; }
  /// Null when the model has none.
  const text::Tokenizer *tokenizer() const { return words ? &*words : nullptr; }
  int64_t contextLength() const { return context; }
  int64_t vocabSize() const { return vocabulary; }

  /// A request's prompt as token ids: at least one, all in the vocabulary and
  /// no more than the context. Errors: the opposites, a file that cannot be
  /// read, text without a tokenizer. A text that is scored gets no tokens
  /// around it.
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
