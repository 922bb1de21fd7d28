//===- Prompts.h - from text to the requests of the head ------------------===//
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

/// Tokens of a prompt, as text or as ids.
struct Prompt {
  TokenIds tokens;
  std::string text; ///< as it was given, or of the ids
};

/// The tokens of a text. Errors: the tokenizer's; `path` is where the text is.
/// `literal`: as Tokenizer::encode has it.
ApiExpected<TokenIds> encodeText(const Model &model, std::string_view text,
                                 bool addSpecial, const std::string &path,
                                 std::span<const size_t> literal = {});

/// How long prompts and answers are to be.
struct Lengths {
  /// truncate_prompt_tokens: the prompt keeps so many of its tokens; -1: as
  /// many as fit the context beside the answer.
  std::optional<int64_t> promptTokens;
  bool keepsFirst = false; ///< truncation_side "right"; else the last are kept
  /// max_tokens as the request gives it.
  std::optional<int64_t> maxTokens;
  std::string maxTokensName = "max_tokens";
  /// Without it: as many as this; nothing: until the context is full.
  std::optional<int64_t> defaultMaxTokens;
};

/// Refuses a text that is too long to fit the context before the time is taken
/// to make tokens of it; not where it is to be truncated. `path` is where the
/// text is.
ApiStatus checkBytes(std::string_view text, const Lengths &lengths,
                     const Model &model, const std::string &path);

/// An array of ids. Errors: something else in it, ids that the model does not
/// have.
ApiExpected<TokenIds> readIds(const ordered_json &ids, const Model &model,
                              const std::string &path);

/// A string, an array of strings, an array of ids, or an array of such arrays:
/// `prompt` of completions, `input` of embeddings.
ApiExpected<std::vector<Prompt>> readPrompts(const ordered_json &body,
                                             std::string_view name,
                                             const RequestContext &context,
                                             const Lengths &lengths,
                                             bool addSpecial, bool wantsText);

/// Reads truncate_prompt_tokens and truncation_side.
void readTruncation(FieldReader &fields, Lengths &lengths);

/// Truncates a prompt as asked for. Errors: no tokens, more than the context
/// has, or one that the model does not have (a tokenizer may have more); `path`
/// is where the prompt is.
ApiStatus fitPrompt(TokenIds &tokens, const Lengths &lengths,
                    const Model &model, const std::string &path);

/// Makes request.requests of the prompts. Errors: an empty prompt; a prompt
/// and its answer that exceed the context: 400 context_length_exceeded; too
/// many requests, or tokens in all of them.
ApiStatus addRequests(std::vector<Prompt> prompts, const CommonFields &common,
                      const Lengths &lengths, const RequestContext &context,
                      GenerationRequest &request);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_PROMPTS_H
