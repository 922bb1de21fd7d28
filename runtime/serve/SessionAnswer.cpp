//===- SessionAnswer.cpp - a session's answer -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream begins with the first token, so that a request that is refused or
// expires in the queue is still answered with the right status. A later error
// is an event of the stream, {"error": ...}, followed by "[DONE]", as in vLLM.
// The usage is complete when all requests have ended, because only ends report
// cached tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Session.h"

using namespace sluice;
using namespace sluice::serve;

static void appendEvent(std::string &events, std::string_view data) {
  events += "data: ";
  events += data;
  events += "\n\n";
}

openai::Usage Session::usage() const {
  return {.promptTokens = request.promptTokens,
          .completionTokens = tokensSoFar,
          .cachedTokens = cachedTokens};
}

/// Marks that the choice has all of its text.
void Session::complete(Choice &choice, uint32_t index, FinishReason reason) {
  choice.piece.append(choice.text.finish());
  choice.end = {.reason = reason, .calledTools = choice.text.calledTools()};
  choice.isComplete = true;
  touch(choice, index);
}

/// Marks that the choice may have something to send.
void Session::touch(Choice &choice, uint32_t index) {
  if (!request.stream || choice.isDirty)
    return;
  choice.isDirty = true;
  dirty.push_back(index);
}

void Session::answer() {
  if (isAnswered)
    return;
  if (responder.exchange().gone())
    return giveUp();
  if (request.stream)
    answerStream();
  else if (endsToGo == 0)
    answerWhole();
}

void Session::answerWhole() {
  std::vector<openai::ChoiceAnswer> answers;
  answers.reserve(choices.size());
  for (Choice &choice : choices)
    answers.push_back({std::move(choice.piece), choice.end});
  noteUsage();
  beginLastAnswer();
  responder.json(writer->answer(answers, usage()));
}

void Session::answerStream() {
  std::string events;
  for (uint32_t index : dirty)
    appendChunks(events, index);
  dirty.clear();
  const bool isLast = endsToGo == 0;
  if (isLast) {
    if (request.includeUsage)
      appendEvent(events, writer->usageChunk(usage()));
    appendEvent(events, "[DONE]");
    services.table.release(ids, *this);
  }
  if (events.empty())
    return;
  if (!isStreaming)
    responder.startEvents();
  isStreaming = true;
  if (!responder.write(events)) // the client is gone or too slow
    return giveUp();
  if (!isLast)
    return;
  noteUsage();
  isAnswered = true;
  responder.endEvents();
}

/// Ends the session because the client has gone; this may be noticed here
/// first.
void Session::giveUp() {
  abort(Reason::Left);
  answerAbort(Reason::Left);
}

/// Appends the unsent chunks of a choice to `events`.
void Session::appendChunks(std::string &events, uint32_t index) {
  Choice &choice = choices[index];
  choice.isDirty = false;
  const openai::Usage soFar = usage();
  if (!choice.hasBegun) {
    choice.hasBegun = true;
    if (std::string chunk = writer->firstChunk(index, soFar); !chunk.empty())
      appendEvent(events, chunk);
  }
  if (choice.isComplete)
    appendEvent(events,
                writer->lastChunk(index, choice.piece, choice.end, soFar));
  else if (!choice.piece.empty())
    appendEvent(events, writer->chunk(index, choice.piece, soFar));
  choice.piece = {};
}

void Session::noteUsage() {
  responder.note("id=" + id +
                 " prompt_tokens=" + std::to_string(request.promptTokens) +
                 " completion_tokens=" + std::to_string(tokensSoFar));
}

/// Answers with an error, and ends the session's running requests.
void Session::fail(const openai::ApiError &error, int retrySeconds) {
  if (isAnswered)
    return;
  beginLastAnswer();
  for (size_t i = 0; i < sinks.size(); ++i)
    if (!choices[i].hasEnded)
      services.engine.finish(sinks[i], FinishReason::Cancelled);
  if (isStreaming)
    responder.failEvents(error);
  else
    responder.fail(error, retrySeconds);
}
