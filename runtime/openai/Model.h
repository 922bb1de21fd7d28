//===- Model.h - the API's view of the model ------------------------------===//
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
  /// The names by which requests may call the model; at least one. Answers have
  /// the first name if the request has none.
  std::vector<std::string> names;
  /// Tokenizer::none() if the model has no tokenizer.
  text::Tokenizer tokenizer;
  /// The number of logits: only ids below it may be requested and occur in
  /// answers.
  int64_t vocabularySize = 0;
  /// The largest number of tokens of a prompt and its answer together. It is
  /// the head's limit (Head::limits), which a small cache can make smaller than
  /// the model's.
  int64_t contextLength = 0;
  /// Ids that end a text, in addition to the tokenizer's
  /// (TokenizerSpec::endOfText).
  std::vector<text::TokenId> endTokens = {};
  /// Replaces the tokenizer's templates (TokenizerSpec::chatTemplate and
  /// toolTemplate) if not empty.
  std::string chatTemplate = {};
  /// Whether spellings of special tokens in the contents of chats become these
  /// tokens or, by default, stay text (ContentMarks.h).
  bool parsesSpecialInContent = false;
  /// The `system_fingerprint` of answers; empty: null.
  std::string fingerprint = {};
  /// The model's creation time for /v1/models, in seconds since 1970; 0: the
  /// start of the server.
  int64_t created = 0;
  /// Whether the model can compute embeddings.
  bool embeddings = false;
};

/// The facts about the model that requests are checked against and prompts are
/// made with. Immutable and thread-safe; must outlive what is made with it.
class Model {
public:
  /// Fails if there is no name, a size is below 1, or a chat template among the
  /// options does not compile. If one of the tokenizer's templates does not
  /// compile, warnings() says so, because the model can still complete texts.
  static Expected<Model> create(ModelOptions options);

  const std::vector<std::string> &names() const { return given.names; }
  bool hasName(std::string_view name) const;
  const text::Tokenizer &tokenizer() const { return given.tokenizer; }
  int64_t vocabularySize() const { return given.vocabularySize; }
  int64_t contextLength() const { return given.contextLength; }
  /// Returns a size in bytes; every longer text has more tokens than the
  /// context.
  int64_t maxPromptBytes() const { return promptBytes; }
  const std::string &fingerprint() const { return given.fingerprint; }
  int64_t created() const { return given.created; }
  bool embeddings() const { return given.embeddings; }

  /// Returns whether prompts and answers have texts, not only token ids.
  bool hasTokenizer() const { return given.tokenizer.vocabularySize() > 0; }

  /// Returns the template of a conversation; if it has tools, that is the
  /// model's template for tools if there is one. The error tells the client
  /// that the model has no template or what is wrong with it.
  ApiExpected<const PromptTemplate *> chatTemplate(bool withTools) const;
  /// Returns messages for the server's operator: a line for each template that
  /// cannot be used.
  const std::vector<std::string> &warnings() const { return said; }
  /// Returns all tokens that end an answer: those of the options and those that
  /// end a turn in a template.
  const std::vector<text::TokenId> &endTokens() const { return ends; }
  /// Null if contents of chats may become special tokens.
  const SpecialSpellings *specialSpellings() const {
    return given.parsesSpecialInContent ? nullptr : &spellings;
  }
  /// Returns the text of the token that begins a text, for the template.
  std::optional<std::string> bosToken() const;
  /// Returns the text of the token that ends a text.
  std::optional<std::string> eosToken() const;

  /// Returns the bytes that a token adds to a text, perhaps incomplete
  /// characters: the `bytes` of log-probabilities. For a special token, they
  /// are its name; for an id outside of the vocabulary, they are empty. Without
  /// a tokenizer, returns "token_id:ID".
  std::string tokenBytes(text::TokenId id) const;

private:
  /// A template, or the reason why there is none.
  struct Slot {
    std::optional<PromptTemplate> usable;
    std::string why; ///< the reason, for the client
  };

  explicit Model(ModelOptions options) : given(std::move(options)) {}
  void addEndToken(text::TokenId id);
  Status compileTemplates();
  void keep(Slot &slot, Expected<PromptTemplate> compiled,
            std::string_view requests);

  ModelOptions given;
  Slot chats;
  std::optional<Slot> toolChats; ///< nullopt: the same as `chats`
  std::vector<std::string> said;
  SpecialSpellings spellings;
  std::vector<text::TokenId> ends;
  int64_t promptBytes = 0;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_MODEL_H
