//===- FakeEngine.h - an engine that does what a test says ----------------===//
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

/// Keeps requests until a test says what becomes of them; requests that are to
/// be finished end at once. Sinks are called on a thread of its own, as on a
/// head's. A token's id is the byte that it stands for (see testTokenizer).
class FakeEngine final : public ServingEngine {
public:
  FakeEngine();
  ~FakeEngine() override;

  void submit(ScheduledRequest request,
              std::shared_ptr<pipeline::TokenSink> sink) override;
  void finish(const pipeline::TokenSink &sink, FinishReason reason) override;
  EngineStatus status() const override;
  Status healthy() const override;

  /// Waits for request number `index`, counted from 0 over the engine's life,
  /// for five seconds at most. Whether it has come.
  bool wait(size_t index);
  size_t submitted() const;
  /// Requests that have not ended.
  size_t open() const;
  /// Of a request that has come.
  const ScheduledRequest &request(size_t index) const;
  /// With what finish() was called for it.
  std::optional<FinishReason> finished(size_t index) const;
  std::string promptOf(size_t index) const;

  /// Tokens for the bytes of `text`.
  void tell(size_t index, std::string_view text);
  void tell(size_t index, const pipeline::TokenItem &item);
  void end(size_t index, FinishReason reason, bool started = true,
           const std::string &error = "");
  void refuse(size_t index, Refusal refusal, const std::string &why);
  void breakDown(size_t index, const std::string &why);
  /// From now on each request is answered with this at once, and with `stop`.
  void answerAll(const std::string &text);

  void setStatus(EngineStatus status);
  void setHealth(Status health);

private:
  struct Held {
    ScheduledRequest request;
    std::shared_ptr<pipeline::TokenSink> sink; ///< null once it has ended
    std::optional<FinishReason> finished;
  };

  void run();
  void later(std::function<void()> fn);
  void push(size_t index, pipeline::TokenItem item);

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
