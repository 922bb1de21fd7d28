//===- ChoiceText.h - the text of a choice, from its tokens ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ChoiceText choice(request, model, index);
//   ChoicePiece piece;
//   for each token:
//     piece.append(choice.push(token, report));
//     if (choice.stopped()) ... finish the engine's request: Stop ...
//   piece.append(choice.finish());
//
// Pieces can be appended in any grouping: a stream sends each piece, or several
// at once if it is behind, and a complete answer is all of them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_CHOICETEXT_H
#define SLUICE_RUNTIME_OPENAI_CHOICETEXT_H

#include "runtime/core/StopMatcher.h"
#include "runtime/openai/ApiRequest.h"
#include "runtime/text/Detokenizer.h"

#include <memory>
#include <optional>
#include <span>

namespace sluice::openai {

class ToolCallParser;

/// A token and the log-probability that the model gave it.
struct TokenLogprob {
  std::string bytes; ///< its part of the text; see Model::tokenBytes
  double logprob = 0;
};

/// The `logprobs` of one token of the answer.
struct LogprobEntry {
  TokenLogprob token;
  std::vector<TokenLogprob> top; ///< most probable first, as many as requested
  /// Characters of the choice's text before this token.
  int64_t textOffset = 0;
  /// False for the prompt's first token, which has no token before it.
  bool hasLogprob = true;
};

/// A part of a tool call. The first part of a call has its id and name, and
/// each part has the next piece of the arguments, which are JSON in a string.
struct ToolCallDelta {
  int64_t index = 0; ///< index of the call
  std::string id;    ///< only in the first part
  std::string name;  ///< only in the first part
  std::string arguments;
};

/// A part of a choice.
struct ChoicePiece {
  std::string text;
  std::vector<LogprobEntry> logprobs;
  std::vector<int32_t> tokens; ///< if the request wants token ids
  /// In order. A call may have several parts, which append() joins.
  std::vector<ToolCallDelta> toolCalls;

  /// Returns whether there is nothing to send.
  bool empty() const {
    return text.empty() && logprobs.empty() && tokens.empty() &&
           toolCalls.empty();
  }
  void append(ChoicePiece next);
};

/// Turns the tokens of one choice into text and tool calls, and ends it at stop
/// strings. Holds back incomplete characters, text that may begin a stop string
/// or a tool call, and the log-probabilities of tokens whose text is held back.
/// Not thread-safe. `request` and `model` must outlive it.
class ChoiceText {
public:
  ChoiceText(const GenerationRequest &request, const Model &model,
             size_t index);
  ChoiceText(ChoiceText &&) noexcept;
  ChoiceText &operator=(ChoiceText &&) noexcept;
  ~ChoiceText();

  /// Takes the report on one token of the prompt, if the request scores its
  /// prompt. Must be called for all tokens from the second on. Gives no text.
  ChoicePiece pushPrompt(std::span<const TokenLogProbability> report);

  /// Takes a token and the last stage's report on it (the token itself first;
  /// empty if not requested). Must not be called after stopped().
  ChoicePiece push(int32_t token, std::span<const TokenLogProbability> report);

  /// Returns whether the answer is complete before its request has ended,
  /// because of a stop string or the only permitted tool call. The engine need
  /// not go on.
  bool stopped() const { return ended; }

  /// Returns what was held back, when no more tokens come. Must be called once.
  ChoicePiece finish();

  /// Returns the number of tokens taken by push(): the usage's
  /// completion_tokens.
  int64_t tokens() const { return taken; }
  /// Returns whether a tool call was reported. If so, the finish_reason is
  /// tool_calls instead of stop.
  bool calledTools() const;

private:
  /// A token whose text is partly held back.
  struct Waiting {
    LogprobEntry entry;
    int64_t end; ///< characters up to the end of its text
  };

  void readPrompt(const std::vector<int32_t> &prompt);
  void addFirst(ChoicePiece &piece);
  std::string textOf(int32_t token);
  LogprobEntry entryOf(std::span<const TokenLogProbability> report) const;
  ChoicePiece release(std::string_view text, bool last);

  const GenerationRequest *request;
  const Model *model;
  text::Detokenizer detokenizer;
  StopMatcher stop;
  std::unique_ptr<ToolCallParser> tools; ///< null: text only
  std::vector<Waiting> waiting;
  int64_t echoed = 0; ///< characters of the prompt before the answer
  /// [token of the prompt]: characters before it; empty if it is not scored.
  std::vector<int64_t> promptOffsets;
  size_t promptTaken = 1; ///< prompt tokens taken so far
  /// The entry of the prompt's first token, until it is returned.
  std::optional<LogprobEntry> first;
  int64_t decoded = 0;  ///< characters from the detokenizer so far
  int64_t released = 0; ///< characters past the stop strings so far
  int64_t taken = 0;
  bool ended = false;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CHOICETEXT_H
