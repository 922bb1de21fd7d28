//===- RunOptions.h - what the user asked for -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H
#define SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H

#include "runtime/core/SamplingParams.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::run {

/// What Options::prompts are.
enum class PromptSource : uint8_t { Text, File, Tokens, TokensFile };

/// What the user asked for. Spelt as the `generate` of an emitted executable,
/// so that tests can run either; but here prompts can be several.
struct RunOptions {
  std::string module; // "-": standard input

  PromptSource promptSource = PromptSource::Text;
  /// Of each request the text, the ids, or a path; path "-": standard input.
  std::vector<std::string> prompts;

  int64_t predict = 128;      // -1: until the context is full
  int64_t contextLength = 0;  // 0: the model's
  int64_t prefillChunk = 512; // rows of a step while the prompt is read
  SamplingParams sampling;
  bool ignoreEos = false;
  std::vector<std::string> stopStrings;
  bool score = false;
  bool logits = false;
  bool json = false;
};

/// Reads the arguments. Nullopt where the process should end now, with `code`:
/// help was printed, or wrong usage was reported in one line on stderr.
std::optional<RunOptions> parseOptions(int argc, const char *const *argv,
                                       int &code);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_RUNOPTIONS_H
