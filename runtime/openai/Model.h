//===- Model.h - what the API must know of the model ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_MODEL_H
#define SLUICE_RUNTIME_OPENAI_MODEL_H

#include "runtime/openai/ApiError.h"
#include "runtime/openai/ContentMarks.h"
#include "runtime/openai/PromptTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::openai {

struct ModelOptions {
  /// What requests may call the model; at least one. Answers have the first
  /// where a request does not say.
  std::vector<std::string> names;
  /// Tokenizer::none() for a model that comes without.
  text::Tokenizer tokenizer;
  /// Of the logits: ids below it can be asked for and come out.
  int64_t vocabularySize = 0;
  /// Tokens of a prompt and its answer together; that of the head in force
  /// (Head::limits), which a small cache can make shorter than the model's.
  int64_t contextLength = 0;
  /// That end a text, besides the tokenizer's (TokenizerSpec::endOfText).
  std::vector<text::TokenId> endTokens = {};
  /// Replaces the tokenizer's (TokenizerSpec::chatTemplate, and toolTemplate)
  /// where not empty.
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
  /// Errors: no name, sizes below 1, a chat template among the options that
  /// does not compile. One of the tokenizer's that does not is no error: a
  /// model's texts can be completed without; warnings() says so.
  static Expected<Model> create(ModelOptions options);

  const std::vector<std::string> &names() const { return given.names; }
  bool hasName(std::string_view name) const;
  const text::Tokenizer &tokenizer() const { return given.tokenizer; }
  int64_t vocabularySize() const { return given.vocabularySize; }
  int64_t contextLength() const { return given.contextLength; }
  /// Bytes of a text that has more tokens than the context, whatever they are.
  int64_t maxPromptBytes() const { return promptBytes; }
  const std::string &fingerprint() const { return given.fingerprint; }
  int64_t created() const { return given.created; }
  bool embeddings() const { return given.embeddings; }

  /// Whether prompts and answers have texts; else they are token ids alone.
  bool hasTokenizer() const { return given.tokenizer.vocabularySize() > 0; }

  /// The template of a conversation: the one for tools where the request gives
  /// some and the model has one of its own for them. The error tells the client
  /// that the model has none, or what is wrong with it.
  ApiExpected<const PromptTemplate *> chatTemplate(bool withTools) const;
  /// What whoever serves the model should know: a line for each of its
  /// templates that cannot be used.
  const std::vector<std::string> &warnings() const { return said; }
  /// All that end an answer: those given, and what ends a turn in a template.
  const std::vector<text::TokenId> &endTokens() const { return ends; }
  /// Null: contents of chats may be special tokens.
  const SpecialSpellings *specialSpellings() const {
    return given.parsesSpecialInContent ? nullptr : &spellings;
  }
  /// The text of the token that begins a text, for the template.
  std::optional<std::string> bosToken() const;
  /// That which ends one.
  std::optional<std::string> eosToken() const;

  /// The bytes that a token puts into a text, whole characters or not: the
  /// `bytes` of log-probabilities. Those of a special token are its name.
  /// Empty outside of the vocabulary. Without a tokenizer "token_id:ID".
  std::string tokenBytes(text::TokenId id) const;

private:
  /// What there is of a template.
  struct Slot {
    std::optional<PromptTemplate> usable;
    std::string why; ///< there is none, for the client
  };

  explicit Model(ModelOptions options) : given(std::move(options)) {}
  void addEndToken(text::TokenId id);
  Status compileTemplates();
  void keep(Slot &slot, Expected<PromptTemplate> compiled,
            std::string_view requests);

  ModelOptions given;
  Slot chats;
  std::optional<Slot> toolChats; ///< nothing: as `chats`
  std::vector<std::string> said;
  SpecialSpellings spellings;
  std::vector<text::TokenId> ends;
  int64_t promptBytes = 0;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_MODEL_H
