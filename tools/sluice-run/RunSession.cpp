//===- RunSession.cpp - a module that is ready to be executed -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSession.h"

#include "runtime/app/TokenList.h"
#include "sluice/Import/ImportTokenizer.h"
#include "sluice/Support/ModuleFile.h"

using namespace sluice;
using namespace sluice::run;

Status RunSession::loadTokenizer() {
  auto ops = parsed.module->getOps<ir::TokenizerOp>();
  if (ops.empty())
    return {};
  Expected<text::TokenizerSpec> spec = readTokenizer(*ops.begin());
  if (!spec)
    return spec.status();
  Expected<text::Tokenizer> tokenizer = text::Tokenizer::create(spec.take());
  if (!tokenizer)
    return tokenizer.status().withContext("tokenizer");
  words.emplace(tokenizer.take());
  return {};
}

Expected<std::unique_ptr<RunSession>>
RunSession::open(ParsedModule parsed, const RunOptions &options) {
  std::unique_ptr<RunSession> session(new RunSession);
  session->parsed = std::move(parsed);
  Expected<interpreter::Interpreter> made =
      interpreter::Interpreter::create(*session->parsed.module);
  if (!made)
    return made.status();
  session->runner.emplace(made.take());
  Expected<std::optional<interpreter::Interpreter>> draft =
      interpreter::Interpreter::createDraft(*session->parsed.module);
  if (!draft)
    return draft.status();
  session->drafter = draft.take();

  const interpreter::ModelInfo &info = session->runner->info();
  session->vocabulary = info.vocabSize;
  int64_t modelContext = info.contextLength;
  session->context = options.contextLength;
  if (options.contextLength > modelContext)
    return failure("a context of ", options.contextLength,
                   " tokens is more than the model's ", modelContext);
  if (session->context == 0)
    session->context = modelContext;
  SLUICE_RETURN_IF_ERROR(session->loadTokenizer());
  return session;
}

/// Returns the beginning of errors about the prompt.
static std::string placeOf(const RunOptions &options, size_t request) {
  std::string number =
      options.prompts.size() > 1 ? " " + std::to_string(request + 1) : "";
  switch (options.promptSource) {
  case PromptSource::Text:
    return "prompt" + number;
  case PromptSource::Tokens:
    return "tokens" + number;
  case PromptSource::File:
  case PromptSource::TokensFile:
    break;
  }
  const std::string &path = options.prompts[request];
  return path == "-" ? "standard input" : path;
}

Expected<std::vector<int32_t>>
RunSession::encodePrompt(const RunOptions &options, size_t request) const {
  std::string content = options.prompts[request];
  if (options.promptSource == PromptSource::File ||
      options.promptSource == PromptSource::TokensFile) {
    Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
        readInput(options.prompts[request]);
    if (!buffer)
      return buffer.status();
    content = (*buffer)->getBuffer().str();
  }
  std::string place = placeOf(options, request);
  bool isText = options.promptSource == PromptSource::Text ||
                options.promptSource == PromptSource::File;
  if (isText && !tokenizer())
    return failure(place, ": this model has no tokenizer; give token ids with "
                          "--tokens or --tokens-file");
  Expected<std::vector<int32_t>> ids =
      isText ? tokenizer()->encode(content, /*addSpecial=*/!options.score)
             : app::parseTokenList(content);
  if (!ids)
    return ids.status().withContext(place);
  return ids;
}

Expected<std::vector<int32_t>> RunSession::readPrompt(const RunOptions &options,
                                                      size_t request) const {
  Expected<std::vector<int32_t>> ids = encodePrompt(options, request);
  if (!ids)
    return ids.status();
  std::string place = placeOf(options, request);
  if (ids->empty())
    return failure(place, ": is empty");
  for (size_t i = 0; i < ids->size(); ++i)
    if ((*ids)[i] < 0 || (*ids)[i] >= vocabulary)
      return failure(place, ": token ", i + 1, " is ", (*ids)[i],
                     ", which is not in the vocabulary of ", vocabulary);
  if (static_cast<int64_t>(ids->size()) > context)
    return failure(place, ": has ", ids->size(),
                   " tokens, more than the context of ", context);
  return ids;
}
