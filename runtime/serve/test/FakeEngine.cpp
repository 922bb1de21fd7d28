//===- FakeEngine.cpp - an engine that does what a test says --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/FakeEngine.h"

#include "runtime/http/test/TestServer.h"
#include "runtime/pipeline/Clock.h"

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using pipeline::RequestEvent;

FakeEngine::FakeEngine() : thread([this] { run(); }) {}

FakeEngine::~FakeEngine() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  thread.join();
}

void FakeEngine::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !tasks.empty(); });
    if (tasks.empty())
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void FakeEngine::later(std::function<void()> fn) {
  std::lock_guard lock(mutex);
  tasks.push_back(std::move(fn));
  changed.notify_all();
}

/// Called on the engine's thread. Drops events after the end.
void FakeEngine::push(size_t index, RequestEvent event) {
  std::shared_ptr<pipeline::TokenSink> sink;
  {
    std::lock_guard lock(mutex);
    sink = requests[index].sink;
    if (std::holds_alternative<RequestEnd>(event))
      requests[index].sink.reset();
  }
  std::visit([](auto &each) { each.at = pipeline::now(); }, event);
  if (sink)
    sink->push(std::move(event));
}

static TokenEvent tokenOf(char byte) {
  TokenEvent token;
  token.token = static_cast<uint8_t>(byte);
  return token;
}

static RequestEnd endOf(FinishReason reason) {
  RequestEnd end;
  end.reason = reason;
  return end;
}

void FakeEngine::submit(ScheduledRequest request,
                        std::shared_ptr<pipeline::TokenSink> sink) {
  std::optional<std::string> said;
  size_t index;
  {
    std::lock_guard lock(mutex);
    index = requests.size();
    requests.push_back({std::move(request), std::move(sink), {}});
    said = text;
    changed.notify_all();
  }
  if (!said)
    return;
  tell(index, *said);
  end(index, FinishReason::Stop);
}

void FakeEngine::finish(const pipeline::TokenSink &sink, FinishReason reason) {
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i].sink.get() == &sink) {
      requests[i].finished = reason;
      tasks.push_back([this, i, reason] { push(i, endOf(reason)); });
    }
  changed.notify_all();
}

EngineStatus FakeEngine::status() const {
  std::lock_guard lock(mutex);
  return current;
}

Status FakeEngine::healthy() const {
  std::lock_guard lock(mutex);
  return health;
}

bool FakeEngine::wait(size_t index) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, http::test::patience,
                          [&] { return requests.size() > index; });
}

size_t FakeEngine::submitted() const {
  std::lock_guard lock(mutex);
  return requests.size();
}

size_t FakeEngine::open() const {
  std::lock_guard lock(mutex);
  size_t count = 0;
  for (const Held &held : requests)
    count += held.sink != nullptr;
  return count;
}

const ScheduledRequest &FakeEngine::request(size_t index) const {
  std::lock_guard lock(mutex);
  return requests[index].request;
}

std::optional<FinishReason> FakeEngine::finished(size_t index) const {
  std::lock_guard lock(mutex);
  return requests[index].finished;
}

std::string FakeEngine::promptOf(size_t index) const {
  std::string prompt;
  for (int32_t token : request(index).spec.prompt)
    if (token < 256)
      prompt += static_cast<char>(token);
  return prompt;
}

void FakeEngine::tell(size_t index, std::string_view bytes) {
  later([this, index, bytes = std::string(bytes)] {
    for (char byte : bytes)
      push(index, tokenOf(byte));
  });
}

void FakeEngine::tell(size_t index, const RequestEvent &event) {
  later([this, index, event] { push(index, event); });
}

void FakeEngine::end(size_t index, FinishReason reason, bool started,
                     const std::string &error) {
  RequestEnd end = endOf(reason);
  end.started = started;
  if (!error.empty())
    end.failure = Status::error(error);
  tell(index, end);
}

void FakeEngine::refuse(size_t index, Refusal refusal, const std::string &why) {
  RequestEnd end;
  end.refusal = refusal;
  end.failure = Status::error(why);
  tell(index, end);
}

void FakeEngine::breakDown(size_t index, const std::string &why) {
  RequestEnd end;
  end.isBroken = true;
  end.failure = Status::error(why);
  tell(index, end);
}

void FakeEngine::answerAll(const std::string &newText) {
  std::lock_guard lock(mutex);
  text = newText;
}

void FakeEngine::setStatus(EngineStatus status) {
  std::lock_guard lock(mutex);
  current = std::move(status);
}

void FakeEngine::setHealth(Status newHealth) {
  std::lock_guard lock(mutex);
  health = std::move(newHealth);
}
