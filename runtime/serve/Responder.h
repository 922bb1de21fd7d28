//===- Responder.h - the answer to one HTTP request -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_RESPONDER_H
#define SLUICE_RUNTIME_SERVE_RESPONDER_H

#include "runtime/core/Rows.h"
#include "runtime/http/Exchange.h"
#include "runtime/openai/ApiError.h"
#include "runtime/serve/RequestLog.h"
#include "runtime/serve/ServeMetrics.h"

#include <memory>
#include <string>

namespace sluice::serve {

/// Answers one HTTP request, and adds what every answer of the server has:
/// common fields, the counters and a log line. Its owner answers once; several
/// threads may use it, one at a time. A responder that is destroyed without an
/// answer answers with 500. If memory for an answer runs out, the connection is
/// reset. `metrics` and `log` must live until its finish() or its destructor.
class Responder {
public:
  /// `common` are the fields of every answer.
  Responder(std::shared_ptr<http::Exchange> exchange, http::Fields common,
            Time arrived, ServeMetrics &metrics, RequestLog &log);
  ~Responder();
  Responder(Responder &&) noexcept = default;
  Responder &operator=(Responder &&other) noexcept;

  http::Exchange &exchange() { return *held; }
  const http::Request &request() const { return held->request(); }
  Time arrived() const { return came; }
  /// Returns the request's target for messages and logs, shortened and without
  /// its query, which may hold private data.
  std::string shownPath() const;

  void addField(const std::string &name, const std::string &value);
  /// Sets a text that is appended to the log line: "id=cmpl-1 tokens=5".
  void note(std::string text) { noted = std::move(text); }

  /// Answers; `contentType` is empty if there is no body.
  void reply(int status, std::string_view contentType, std::string body,
             http::Fields more = {});
  void json(std::string body);
  /// Answers with an error; adds Retry-After if `retrySeconds` is above 0.
  void fail(const openai::ApiError &error, int retrySeconds = 0,
            http::Fields more = {});

  /// Starts server-sent events. Here and in write(), false means that the
  /// client has gone.
  bool startEvents();
  bool write(std::string_view events) { return held->write(events); }
  void endEvents();
  /// Ends the events with an error, as vLLM does.
  void failEvents(const openai::ApiError &error);

  /// Records in the counters and the log that the client has gone.
  void clientLeft();

  /// Answers with 500 if nothing has been answered. From here on, the responder
  /// does not use `metrics` and `log` any more.
  void finish();

private:
  template <typename Fn> void orBreakOff(Fn &&answer);
  void done(int status);

  std::shared_ptr<http::Exchange> held; ///< null once moved from
  http::Fields common;
  Time came;
  ServeMetrics *metrics; // pointers, since responders are moved
  RequestLog *log;
  std::string noted;
  bool isDone = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_RESPONDER_H
