//===- ChoiceText.h - from a choice's tokens to its text ------------------===//
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
// Pieces can be put together in any way: a stream sends each, or some at a time
// when it is behind, and an answer as a whole is all of them.
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

/// How probable the model found a token.
struct TokenLogprob {
  std::string bytes; ///< that it puts into the text; see Model::tokenBytes
  double logprob = 0;
};

/// What `logprobs` says of one token of the answer.
struct LogprobEntry {
  TokenLogprob token;
  std::vector<TokenLogprob> top; ///< most probable first, as many as asked for
  /// Characters of the choice's text before this token's.
  int64_t textOffset = 0;
  /// False: the prompt's first token, which has nothing before it.
  bool hasLogprob = true;
};

/// A part of a call of a tool: the first of a call has its id and name, and all
/// of them the next part of the arguments, which are JSON in a string.
struct ToolCallDelta {
  int64_t index = 0; ///< of the call
  std::string id;    ///< empty but in the first
  std::string name;  ///< likewise
  std::string arguments;
};

/// A part of a choice.
struct ChoicePiece {
  std::string text;
  std::vector<LogprobEntry> logprobs;
  std::vector<int32_t> tokens; ///< where the request wants their ids
  /// In order; of one call there may be several, but append() joins them.
  std::vector<ToolCallDelta> toolCalls;

  /// Nothing to send.
  bool empty() const {
    return text.empty() && logprobs.empty() && tokens.empty() &&
           toolCalls.empty();
  }
  void append(ChoicePiece next);
};

/// Makes text and calls of tools of one choice's tokens, and finds its end at
/// stop strings. What it holds back: bytes of a character that is not whole,
/// what may begin a stop string or a call of a tool, and log-probabilities of
/// tokens whose text is held back. Thread-compatible. `request` and `model`
/// outlive it.
class ChoiceText {
public:
  ChoiceText(const GenerationRequest &request, const Model &model,
             size_t index);
  ChoiceText(ChoiceText &&) noexcept;
  ChoiceText &operator=(ChoiceText &&) noexcept;
  ~ChoiceText();

  /// Takes a token of the prompt and the report on it: from the second on, all
  /// of them, where the request scores its prompt. No text.
  ChoicePiece pushPrompt(std::span<const TokenLogProbability> report);

  /// Takes a token and what the last stage reports of it (the token itself
  /// first; empty where not asked for). After stopped() it takes nothing more.
  ChoicePiece push(int32_t token, std::span<const TokenLogProbability> report);

  /// The answer is complete before its request has ended: a stop string was
  /// found, or the one call that there may be. The engine need not go on.
  bool stopped() const { return ended; }

  /// No more tokens come: what was held back. Once.
  ChoicePiece finish();

  /// Tokens that push() has taken: the usage's completion_tokens.
  int64_t tokens() const { return taken; }
  /// Whether a call of a tool has been reported: the finish_reason is
  /// tool_calls then, where it would have been stop.
  bool calledTools() const;

private:
  /// A token of whose text something is held back.
  struct Waiting {
    LogprobEntry entry;
    int64_t end; ///< characters before the next token's
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
  int64_t echoed = 0; ///< characters of the prompt in front of the text
  /// [token of the prompt]: characters before it; empty where it isn't scored.
  std::vector<int64_t> promptOffsets;
  size_t promptTaken = 1; ///< tokens of it that have been taken
  /// Of the prompt's first token, until it has been given out.
  std::optional<LogprobEntry> first;
  int64_t decoded = 0;  ///< characters from the detokenizer so far
  int64_t released = 0; ///< characters past the stop strings so far
  int64_t taken = 0;
  bool ended = false;
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_CHOICETEXT_H
