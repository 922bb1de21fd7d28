//===- Responder.h - the one answer to a request --------------------------===//
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

/// An exchange with what goes with every answer of the server: fields that all
/// of them have, the counters and the log. Whoever holds it answers once, from
/// any one thread at a time; one that nobody has answered answers with 500 when
/// it goes. Where there is no memory for an answer, the connection is reset.
/// `metrics` and `log` outlive it.
class Responder {
public:
  /// `common`: fields of every answer.
  Responder(std::shared_ptr<http::Exchange> exchange, http::Fields common,
            Time arrived, ServeMetrics &metrics, RequestLog &log);
  ~Responder();
  Responder(Responder &&) noexcept = default;
  Responder &operator=(Responder &&other) noexcept;

  http::Exchange &exchange() { return *held; }
  const http::Request &request() const { return held->request(); }
  Time arrived() const { return came; }
  /// The request's target for messages and logs: without its query, which may
  /// hold what is nobody's business, and not too long.
  std::string shownPath() const;

  void addField(const std::string &name, const std::string &value);
  /// What the line in the log says besides: "id=cmpl-1 tokens=5".
  void note(std::string text) { noted = std::move(text); }

  /// `contentType`: empty where there is no body.
  void reply(int status, std::string_view contentType, std::string body,
             http::Fields more = {});
  void json(std::string body);
  /// With Retry-After where `retrySeconds` is above 0.
  void fail(const openai::ApiError &error, int retrySeconds = 0,
            http::Fields more = {});

  /// Server-sent events. False here and in write(): nobody is there any more.
  bool startEvents();
  bool write(std::string_view events) { return held->write(events); }
  void endEvents();
  /// Ends them with an error, as vLLM does.
  void failEvents(const openai::ApiError &error);

  /// The client has gone: for the counters and the log.
  void clientLeft();

private:
  template <typename Fn> void orBreakOff(Fn &&answer);
  void done(int status);

  std::shared_ptr<http::Exchange> held; ///< null: moved from
  http::Fields common;
  Time came;
  ServeMetrics *metrics; // not references: responders are moved
  RequestLog *log;
  std::string noted;
  bool isDone = false;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_RESPONDER_H
