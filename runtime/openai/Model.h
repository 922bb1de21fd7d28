//===- Model.h - what the API must know of the model ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_MODEL_H
#define SLUICE_RUNTIME_OPENAI_MODEL_H

#include "runtime/openai/ContentMarks.h"
#include "runtime/openai/ToolSyntax.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/text/jinja/ChatTemplate.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::openai {

struct ModelOptions {
  /// What requests may call the model; at least one. Answers have the first
  /// where a request does not say.
  std::vector<std::string> names;
  text::Tokenizer tokenizer;
  /// Of the logits: ids below it can be asked for and come out.
  int64_t vocabularySize = 0;
  /// Tokens of a prompt and its answer together; that of the head in force
  /// (Head::limits), which a small cache can make shorter than the model's.
  int64_t contextLength = 0;
  /// That end a text, besides the tokenizer's (TokenizerSpec::endOfText).
  std::vector<text::TokenId> endTokens = {};
  /// Replaces the tokenizer's (TokenizerSpec::chatTemplate) where not empty.
  std::string chatTemplate = {};
  /// Whether contents of chats that spell special tokens are these tokens; else
  /// they are text (ContentMarks.h).
  bool parsesSpecialInContent = false;
  /// `system_fingerprint` of answers; empty: null.
  std::string fingerprint = {};
  /// When the model came into being, in seconds since 1970, for /v1/models; 0:
  /// when its server starts.
  int64_t created = 0;
  /// Whether it can compute embeddings.
  bool embeddings = false;
};

/// What requests are checked against and prompts are made with. Immutable and
/// thread-safe; outlives what is made with it.
class Model {
public:
  /// Errors: no name, sizes below 1, a chat template that does not compile.
  static Expected<Model> create(ModelOptions options);

  const std::vector<std::string> &names() const { return given.names; }
  bool hasName(std::string_view name) const;
  const text::Tokenizer &tokenizer() const { return given.tokenizer; }
  int64_t vocabularySize() const { return given.vocabularySize; }
  int64_t contextLength() const { return given.contextLength; }
  /// Bytes of a text that has more tokens than the context, whatever they are.
  int64_t mostPromptBytes() const { return promptBytes; }
  const std::string &fingerprint() const { return given.fingerprint; }
  int64_t created() const { return given.created; }
  bool embeddings() const { return given.embeddings; }

  /// Null: the model has no chat template, so no /v1/chat/completions.
  const text::ChatTemplate *chatTemplate() const {
    return compiled ? &*compiled : nullptr;
  }
  /// What becomes of text and of parts in the template.
  text::ContentForms contentForms() const { return forms; }
  /// Whether the template's text has `word` as a name of its own: "tools",
  /// "reasoning_effort". False without a template.
  bool templateMentions(std::string_view word) const;
  /// All that end an answer: those given, and what ends a turn in the template.
  const std::vector<text::TokenId> &endTokens() const { return ends; }
  /// Null: contents of chats may be special tokens.
  const SpecialSpellings *specialSpellings() const {
    return given.parsesSpecialInContent ? nullptr : &spellings;
  }
  /// The text of the token that begins a text, for the template.
  std::optional<std::string> bosToken() const;
  /// That which ends one.
  std::optional<std::string> eosToken() const;

  /// How the model writes calls of tools; nothing where the template knows no
  /// tools, or teaches a form that is not in ToolSyntax.h.
  const ToolSyntax *toolSyntax() const { return tools; }

  /// The bytes that a token puts into a text, whole characters or not: the
  /// `bytes` of log-probabilities. Those of a special token are its name.
  /// Empty outside of the vocabulary.
  std::string tokenBytes(text::TokenId id) const;

private:
  explicit Model(ModelOptions options) : given(std::move(options)) {}
  void addEndToken(text::TokenId id);

  ModelOptions given;
  std::optional<text::ChatTemplate> compiled;
  text::ContentForms forms;
  const ToolSyntax *tools = nullptr;
  SpecialSpellings spellings;
  std::vector<text::TokenId> ends;
  int64_t promptBytes = 0;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_MODEL_H
