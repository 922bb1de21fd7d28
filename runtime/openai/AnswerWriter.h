//===- AnswerWriter.h - answers of the OpenAI API as JSON -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes answers and the chunks of streams as JSON, each on one line. The
// caller adds the "data: " and "[DONE]" of a stream.
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

/// The numbers of tokens that a request took.
struct Usage {
  int64_t promptTokens = 0;     ///< GenerationRequest::promptTokens
  int64_t completionTokens = 0; ///< of all choices
  int64_t cachedTokens = 0;     ///< prompt tokens that were in the cache
};

/// How a choice ended.
struct ChoiceEnd {
  FinishReason reason = FinishReason::Stop;
  bool calledTools = false; ///< ChoiceText::calledTools
};

/// A complete choice of an answer.
struct ChoiceAnswer {
  ChoicePiece all; ///< all pieces of the choice, appended
  ChoiceEnd end;
};

/// Returns "cmpl-" or "chatcmpl-" with the number in hexadecimal.
std::string answerId(Endpoint endpoint, uint64_t number);

/// Returns the `finish_reason` of a choice: stop, length, tool_calls or error,
/// and abort, as in vLLM, if it was cancelled or timed out. If the request
/// names the function to call, a call ends with stop, as in OpenAI's API.
std::string_view finishReasonOf(const ToolUse &tools, const ChoiceEnd &end);

/// Not thread-safe, but several threads may call const methods. `request` must
/// outlive the writer.
class AnswerWriter {
public:
  /// `created` is in seconds since 1970.
  AnswerWriter(const GenerationRequest &request, const Model &model,
               std::string id, int64_t created);

  /// Returns a complete answer; choices[i] is that of request.requests[i].
  std::string answer(std::span<const ChoiceAnswer> choices,
                     const Usage &usage) const;

  /// Returns the first chunk of a choice's stream: it has the role in a chat,
  /// and the prompt with `echo` or if token ids are wanted. Returns "" if there
  /// is nothing to send. Here and below, `soFar` is written if the request
  /// wants the usage in every chunk.
  std::string firstChunk(int64_t index, const Usage &soFar) const;
  std::string chunk(int64_t index, const ChoicePiece &piece,
                    const Usage &soFar) const;
  /// Returns the last chunk of a choice, with its rest and why it ended.
  std::string lastChunk(int64_t index, const ChoicePiece &rest,
                        const ChoiceEnd &end, const Usage &soFar) const;
  /// Returns the chunk with the usage and without choices.
  std::string usageChunk(const Usage &usage) const;

private:
  /// The data of one chunk of a choice.
  struct Chunk {
    int64_t index;
    const ChoicePiece &piece;
    const ChoiceEnd *end = nullptr; ///< in the last chunk only
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

/// Return the answers of /v1/models and /v1/models/NAME. `meta` has llama.cpp's
/// members n_vocab and n_ctx; max_model_len is vLLM's.
std::string modelListJson(const Model &model);
/// Fails with 404 if the model has another name.
ApiExpected<std::string> modelJson(const Model &model, std::string_view name);

/// Return the answers of /tokenize and /detokenize in vLLM's form.
std::string tokenizeJson(const TokenizeRequest &request, const Model &model);
std::string detokenizeJson(std::string_view text);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_ANSWERWRITER_H
