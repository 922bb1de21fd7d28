//===- Prompts.h - prompts, and the requests made of them -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_PROMPTS_H
#define SLUICE_RUNTIME_OPENAI_PROMPTS_H

#include "runtime/openai/CommonFields.h"

namespace sluice::openai {

using TokenIds = std::vector<int32_t>;

/// A prompt, given as text or as token ids.
struct Prompt {
  TokenIds tokens;
  std::string text; ///< as given, or the text of the ids
};

/// Tokenizes a text. Fails if the tokenizer does; `path` is the text's place in
/// the request. `literal` is that of Tokenizer::encode.
ApiExpected<TokenIds> encodeText(const Model &model, std::string_view text,
                                 bool addSpecial, const std::string &path,
                                 std::span<const size_t> literal = {});

/// The requested lengths of prompts and answers.
struct Lengths {
  /// truncate_prompt_tokens: the number of tokens that the prompt keeps; -1: as
  /// many as fit the context beside the answer.
  std::optional<int64_t> promptTokens;
  /// Whether truncation_side is "right"; else the last tokens are kept.
  bool keepsFirst = false;
  /// The request's max_tokens.
  std::optional<int64_t> maxTokens;
  std::string maxTokensName = "max_tokens";
  /// Used without max_tokens; nullopt: until the context is full.
  std::optional<int64_t> defaultMaxTokens;
};

/// Fails if a text is certainly too long for the context, so that no time is
/// spent on tokenizing it; does nothing if the text is to be truncated. `path`
/// is the text's place in the request.
ApiStatus checkBytes(std::string_view text, const Lengths &lengths,
                     const Model &model, const std::string &path);

/// Reads an array of token ids. Fails if it has other elements, or ids that the
/// model does not have.
ApiExpected<TokenIds> readIds(const ordered_json &ids, const Model &model,
                              const std::string &path);

/// Reads a string, an array of strings, an array of ids, or an array of such
/// arrays: `prompt` of completions, `input` of embeddings.
ApiExpected<std::vector<Prompt>> readPrompts(const ordered_json &body,
                                             std::string_view name,
                                             const RequestContext &context,
                                             const Lengths &lengths,
                                             bool addSpecial, bool wantsText);

/// Reads truncate_prompt_tokens and truncation_side.
void readTruncation(FieldReader &fields, Lengths &lengths);

/// Truncates a prompt as requested. Fails if it has no tokens, more than the
/// context holds, or one that the model does not have (a tokenizer may have
/// more); `path` is the prompt's place in the request.
ApiStatus fitPrompt(TokenIds &tokens, const Lengths &lengths,
                    const Model &model, const std::string &path);

/// Makes request.requests of the prompts. Fails if a prompt is empty, if a
/// prompt and its answer exceed the context (400 context_length_exceeded), or
/// if there are too many requests or tokens in all.
ApiStatus addRequests(std::vector<Prompt> prompts, const CommonFields &common,
                      const Lengths &lengths, const RequestContext &context,
                      GenerationRequest &request);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_PROMPTS_H
