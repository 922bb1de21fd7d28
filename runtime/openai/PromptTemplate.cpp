//===- PromptTemplate.cpp - a chat template and its abilities -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/PromptTemplate.h"

using namespace sluice;
using namespace sluice::openai;

PromptTemplate::PromptTemplate(std::string source, text::ChatTemplate compiled)
    : source(std::move(source)), chat(std::move(compiled)),
      forms(chat.contentForms()), tools(toolSyntaxOf(this->source)) {}

Expected<PromptTemplate> PromptTemplate::create(std::string source) {
  Expected<text::ChatTemplate> compiled = text::ChatTemplate::compile(source);
  if (!compiled)
    return compiled.status();
  return PromptTemplate(std::move(source), compiled.take());
}

static bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

bool PromptTemplate::mentions(std::string_view word) const {
  for (size_t at = source.find(word); at != std::string::npos;
       at = source.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isNameCharacter(source[at - 1])) &&
        (end == source.size() || !isNameCharacter(source[end])))
      return true;
  }
  return false;
}
