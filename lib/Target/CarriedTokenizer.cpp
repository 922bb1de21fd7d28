//===- CarriedTokenizer.cpp - the tokenizer in an executable --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CarriedTokenizer.h"

#include "runtime/jinja/ChatTemplate.h"
#include "runtime/text/TokenizerBlob.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Import/ImportTokenizer.h"

using namespace mlir;
using namespace sluice;

/// Warns of tokens for which the model, which has `vocabSize` rows, has no row.
/// Such tokens were added to the tokenizer only.
static void checkTokens(ModuleOp module, const text::TokenizerSpec &spec,
                        int64_t vocabSize) {
  constexpr int64_t maxNamed = 5;
  const auto count = static_cast<int64_t>(spec.tokens.size());
  std::string names;
  int64_t missing = 0;
  for (int64_t id = vocabSize; id < count; ++id) {
    const std::string &text = spec.tokens[size_t(id)].text;
    // An id between others may be unused.
    if (text.empty() || ++missing > maxNamed)
      continue;
    names +=
        (missing > 1 ? ", " : "") + std::to_string(id) + " ('" + text + "')";
  }
  if (missing > 0)
    mlir::emitWarning(module.getLoc())
        << "the tokenizer has " << missing
        << (missing > 1 ? " tokens" : " token") << " that the model, which has "
        << vocabSize << ", does not: " << names
        << (missing > maxNamed ? ", ..." : "") << "; texts that need "
        << (missing > 1 ? "them" : "it") << " are refused";
}

/// Warns of conversations (`chats` names them) that the server will refuse: all
/// with this template, or those that reach an unsupported part of it.
static void checkTemplate(ModuleOp module, StringRef chats,
                          const std::string &source) {
  if (source.empty())
    return;
  Expected<text::ChatTemplate> compiled = text::ChatTemplate::compile(source);
  if (!compiled) {
    mlir::emitWarning(module.getLoc())
        << compiled.status().message() << "; " << chats
        << " will be refused, unless the server is given another "
           "--chat-template";
    return;
  }
  for (const std::string &place : compiled->unsupported())
    mlir::emitWarning(module.getLoc())
        << "chat template: " << place << "; " << chats
        << " that reach it will be refused";
}

Expected<std::string> sluice::buildTokenizer(ModuleOp module,
                                             int64_t vocabSize) {
  auto tokenizers = module.getOps<ir::TokenizerOp>();
  if (tokenizers.empty())
    return std::string();
  Expected<text::TokenizerSpec> spec = readTokenizer(*tokenizers.begin());
  if (!spec)
    return spec.status();
  checkTokens(module, *spec, vocabSize);
  checkTemplate(module, "chats", spec->chatTemplate);
  checkTemplate(module, "chats with tools", spec->toolTemplate);
  std::vector<uint8_t> blob = text::serializeTokenizer(*spec);
  return std::string(blob.begin(), blob.end());
}
