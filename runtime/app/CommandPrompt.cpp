//===- CommandPrompt.cpp - the prompt of a command ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/CommandPrompt.h"

#include "runtime/app/TokenList.h"
#include "runtime/base/ReadFile.h"

#include <unistd.h>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

using Source = PromptOptions::Source;

// Far above any context, so that an endless pipe does not fill the memory.
constexpr size_t maxInputBytes = size_t(1) << 30;

Expected<std::string> readInput(const std::string &path) {
  const bool isStandard = path == "-";
  Expected<std::string> read = isStandard
                                   ? readToEnd(STDIN_FILENO, maxInputBytes)
                                   : readFile(path, maxInputBytes);
  if (!read)
    return read.status().withContext(isStandard ? "standard input" : path);
  return read;
}

/// Returns the beginning of errors about the prompt.
std::string placeOf(const PromptOptions &options) {
  switch (options.source) {
  case Source::Text:
    return "prompt";
  case Source::Tokens:
    return "tokens";
  case Source::File:
  case Source::TokensFile:
    break;
  }
  return options.value == "-" ? "standard input" : options.value;
}

Expected<std::vector<int32_t>> tokensOf(const PromptOptions &options,
                                        const Engine &engine, bool addSpecial) {
  std::string content = options.value;
  if (options.source == Source::File || options.source == Source::TokensFile) {
    Expected<std::string> read = readInput(options.value);
    if (!read)
      return read.status();
    content = read.take();
  }
  std::string place = placeOf(options);
  if (options.source == Source::Tokens ||
      options.source == Source::TokensFile) {
    Expected<std::vector<int32_t>> ids = parseTokenList(content);
    if (!ids)
      return ids.status().withContext(place);
    return ids;
  }
  if (!engine.tokenizer())
    return failure(place, ": this model has no tokenizer; give token ids with "
                          "--tokens or --tokens-file");
  if (content.empty())
    return failure(place, ": is empty");
  Expected<std::vector<int32_t>> ids =
      engine.tokenizer()->encode(content, addSpecial, options.parseSpecial);
  if (!ids)
    return ids.status().withContext(place);
  return ids;
}

} // namespace

Expected<std::vector<int32_t>> app::readPrompt(const PromptOptions &options,
                                               const Engine &engine,
                                               bool addSpecial) {
  Expected<std::vector<int32_t>> ids = tokensOf(options, engine, addSpecial);
  if (!ids)
    return ids;
  std::string place = placeOf(options);
  if (ids->empty())
    return failure(place, ": is empty");
  int64_t vocabulary = engine.descriptor().vocabSize;
  for (size_t i = 0; i < ids->size(); ++i)
    if ((*ids)[i] >= vocabulary)
      return failure(place, ": token ", i + 1, " is ", (*ids)[i],
                     ", which is not in the vocabulary of ", vocabulary);
  if (int64_t(ids->size()) > engine.contextLength())
    return failure(place, ": has ", ids->size(),
                   " tokens, more than the context of ",
                   engine.contextLength());
  return ids;
}
