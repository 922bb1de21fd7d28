//===- SessionAnswer.cpp - a session's answer -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream begins with the first token, so that a request that is refused or
// never has its turn is answered with the status that says so. An error behind
// that is an event of the stream, {"error": ...}, then "[DONE]", as in vLLM.
// The usage waits for the ends of all requests, which tell what was cached.
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

/// The choice has all of its text.
void Session::complete(Choice &choice, uint32_t index, FinishReason reason) {
  choice.piece.append(choice.text.finish());
  choice.end = {.reason = reason, .calledTools = choice.text.calledTools()};
  choice.isComplete = true;
  touch(choice, index);
}

/// There may be something of it to send.
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
  if (!responder.write(events)) // gone, or too slow
    return giveUp();
  if (!isLast)
    return;
  noteUsage();
  isAnswered = true;
  responder.endEvents();
}

/// The client has gone; perhaps nobody has said so yet.
void Session::giveUp() {
  abort(Reason::Left);
  answerAbort(Reason::Left);
}

/// What there is to send of a choice.
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

/// The answer is an error, and what runs of the session ends.
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
