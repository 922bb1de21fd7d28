//===- FakeEngine.h - an engine that a test controls ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_TEST_FAKEENGINE_H
#define SLUICE_RUNTIME_SERVE_TEST_FAKEENGINE_H

#include "runtime/serve/ServingEngine.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::serve::test {

/// Keeps requests until the test ends them, except that finish() ends a request
/// at once. Calls sinks on its own thread, as a head does. A token's id is its
/// byte (see testTokenizer).
class FakeEngine final : public ServingEngine {
public:
  FakeEngine();
  ~FakeEngine() override;

  void submit(ScheduledRequest request,
              std::shared_ptr<pipeline::TokenSink> sink) override;
  void finish(const pipeline::TokenSink &sink, FinishReason reason) override;
  EngineStatus status() const override;
  Status healthy() const override;

  /// Waits at most five seconds for request number `index`, counted from 0 over
  /// the engine's life. Returns whether it has come.
  bool wait(size_t index);
  size_t submitted() const;
  /// Returns the number of requests that have not ended.
  size_t open() const;
  /// Returns a request that has come.
  const ScheduledRequest &request(size_t index) const;
  /// Returns the reason with which finish() was called for a request.
  std::optional<FinishReason> finished(size_t index) const;
  std::string promptOf(size_t index) const;

  /// Gives a request the tokens of the bytes of `text`.
  void tell(size_t index, std::string_view text);
  void tell(size_t index, const pipeline::RequestEvent &event);
  void end(size_t index, FinishReason reason, bool started = true,
           const std::string &error = "");
  void refuse(size_t index, Refusal refusal, const std::string &why);
  void breakDown(size_t index, const std::string &why);
  /// Answers each further request at once with `text` and the end `stop`.
  void answerAll(const std::string &text);

  void setStatus(EngineStatus status);
  void setHealth(Status health);

private:
  struct Held {
    ScheduledRequest request;
    /// Null once the request has ended.
    std::shared_ptr<pipeline::TokenSink> sink;
    std::optional<FinishReason> finished;
  };

  void run();
  void later(std::function<void()> fn);
  void push(size_t index, pipeline::RequestEvent event);

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Held> requests;
  std::deque<std::function<void()>> tasks;
  std::optional<std::string> text;
  EngineStatus current;
  Status health;
  bool stopping = false;
  std::thread thread;
};

} // namespace sluice::serve::test

#endif // SLUICE_RUNTIME_SERVE_TEST_FAKEENGINE_H
