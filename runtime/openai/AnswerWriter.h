//===- AnswerWriter.h - answers of the OpenAI API as JSON -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON of answers and of stream chunks, each on one line. "data: " and
// "[DONE]" of a stream are the caller's.
//
//   AnswerWriter writer(request, model, answerId(endpoint, number), time);
//
//   whole:   writer.answer(choices, usage)
//   stream:  for each choice writer.firstChunk(i, usage) if not empty;
//            writer.chunk(i, piece, usage) ...; writer.lastChunk(i, ...);
//            where request.includeUsage: writer.usageChunk(usage)
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_ANSWERWRITER_H
#define SLUICE_RUNTIME_OPENAI_ANSWERWRITER_H

#include "runtime/openai/ChoiceText.h"

namespace sluice::text {
class JsonWriter;
}

namespace sluice::openai {

/// Tokens that a request took.
struct Usage {
  int64_t promptTokens = 0;     ///< GenerationRequest::promptTokens
  int64_t completionTokens = 0; ///< of all choices
  int64_t cachedTokens = 0;     ///< of the prompt's, those found in the cache
};

/// How a choice ended.
struct ChoiceEnd {
  FinishReason reason = FinishReason::Stop;
  bool calledTools = false; ///< ChoiceText::calledTools
};

/// A choice of an answer as a whole.
struct ChoiceAnswer {
  ChoicePiece all; ///< every piece, put together
  ChoiceEnd end;
};

/// "cmpl-" or "chatcmpl-" and the number in hexadecimal.
std::string answerId(Endpoint endpoint, uint64_t number);

/// The `finish_reason` of a choice: stop, length, tool_calls; as in vLLM abort
/// for what was cancelled or timed out, and error. A function that the request
/// names ends with stop, as OpenAI has it.
std::string_view finishReasonOf(const ToolUse &tools, const ChoiceEnd &end);

/// Thread-compatible; const methods may be called from several threads.
/// `request` outlives it.
class AnswerWriter {
public:
  /// `created`: seconds since 1970.
  AnswerWriter(const GenerationRequest &request, const Model &model,
               std::string id, int64_t created);

  /// choices[i] is that of request.requests[i].
  std::string answer(std::span<const ChoiceAnswer> choices,
                     const Usage &usage) const;

  /// What a choice's stream begins with: the role in a chat, the prompt with
  /// `echo` or where ids are wanted; else "", nothing to send. `soFar`, here
  /// and below, goes in where the request wants usage in every chunk.
  std::string firstChunk(int64_t index, const Usage &soFar) const;
  std::string chunk(int64_t index, const ChoicePiece &piece,
                    const Usage &soFar) const;
  /// The rest of a choice, and why it ended.
  std::string lastChunk(int64_t index, const ChoicePiece &rest,
                        const ChoiceEnd &end, const Usage &soFar) const;
  /// The usage, without choices.
  std::string usageChunk(const Usage &usage) const;

private:
  /// What there is to send of a choice.
  struct Chunk {
    int64_t index;
    const ChoicePiece &piece;
    const ChoiceEnd *end = nullptr; ///< of the last one
    bool isFirst = false;
  };

  void begin(text::JsonWriter &json, std::string_view object) const;
  std::string_view echoOf(size_t index) const;
  const std::vector<int32_t> &promptIdsOf(size_t index) const;
  void writeMessage(text::JsonWriter &json, const ChoicePiece &all) const;
  void writeChoice(text::JsonWriter &json, size_t index,
                   const ChoiceAnswer &choice) const;
  std::string write(const Chunk &chunk, const Usage &soFar) const;

  const GenerationRequest *request;
  std::string id;
  std::string fingerprint;
  int64_t created;
};

/// The answers of /v1/models and /v1/models/NAME. `meta` has what llama.cpp
/// gives there: n_vocab, n_ctx; max_model_len is vLLM's.
std::string modelListJson(const Model &model);
/// Errors: 404 for another name.
ApiExpected<std::string> modelJson(const Model &model, std::string_view name);

/// The answers of /tokenize and /detokenize, as vLLM gives them.
std::string tokenizeJson(const TokenizeRequest &request, const Model &model);
std::string detokenizeJson(std::string_view text);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_ANSWERWRITER_H
