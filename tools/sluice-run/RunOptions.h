//===- RunOptions.h - the options of sluice-run ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H
#define SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H

#include "runtime/core/Rows.h"
#include "runtime/core/SamplingParams.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::run {

/// The form of the prompts in RunOptions::prompts.
enum class PromptSource : uint8_t { Text, File, Tokens, TokensFile };

/// The options of the command line. They have the names of the options of
/// `generate` in an emitted executable, so that tests can run either one.
/// Unlike there, several prompts can be given.
struct RunOptions {
  std::string module; // "-" is standard input.

  PromptSource promptSource = PromptSource::Text;
  /// The text, the ids or the path of each request's prompt. The path "-" is
  /// standard input.
  std::vector<std::string> prompts;

  int64_t predict = 128;                  // -1 means until the context is full.
  int64_t contextLength = 0;              // 0 means the model's context.
  int64_t prefillChunk = defaultStepRows; // The rows of a prompt in a step.
  SamplingParams sampling;
  bool ignoreEos = false;
  std::vector<std::string> stopStrings;
  bool score = false;
  bool logits = false;
  bool json = false;
};

/// Reads the arguments. Returns nullopt if the process should exit with `code`,
/// after it has printed help or reported wrong usage in one line on stderr.
std::optional<RunOptions> parseOptions(int argc, const char *const *argv,
                                       int &code);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H
