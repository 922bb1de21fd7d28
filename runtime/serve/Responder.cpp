//===- Responder.cpp - the answer to one HTTP request ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Responder.h"

#include "runtime/base/Guarded.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

using namespace sluice;
using namespace sluice::serve;

Responder::Responder(std::shared_ptr<http::Exchange> exchange,
                     http::Fields common, Time arrived, ServeMetrics &metrics,
                     RequestLog &log)
    : held(std::move(exchange)), common(std::move(common)), came(arrived),
      metrics(&metrics), log(&log) {}

/// Answers; if memory for it runs out, resets the connection to tell the
/// client.
template <typename Fn> void Responder::orBreakOff(Fn &&answer) {
  Status given = guarded([&] {
    answer();
    return Status();
  });
  if (given.ok())
    return;
  held->breakOff();
  isDone = true;
}

Responder::~Responder() { finish(); }

void Responder::finish() {
  if (!held || isDone)
    return;
  if (held->gone())
    return clientLeft();
  orBreakOff([this] {
    fail({.status = 500,
          .message = "the request was dropped without an answer"});
  });
}

Responder &Responder::operator=(Responder &&other) noexcept {
  std::swap(held, other.held);
  std::swap(common, other.common);
  std::swap(came, other.came);
  std::swap(metrics, other.metrics);
  std::swap(log, other.log);
  std::swap(noted, other.noted);
  std::swap(isDone, other.isDone);
  return *this;
}

std::string Responder::shownPath() const {
  constexpr size_t longest = 200;
  const std::string &target = request().target;
  return target.substr(0, std::min(target.find('?'), longest));
}

void Responder::addField(const std::string &name, const std::string &value) {
  common.emplace_back(name, value);
}

void Responder::reply(int status, std::string_view contentType,
                      std::string body, http::Fields more) {
  orBreakOff([&] {
    http::Fields fields = common;
    if (!contentType.empty())
      fields.emplace_back("Content-Type", contentType);
    std::move(more.begin(), more.end(), std::back_inserter(fields));
    // Counted first, because a client that has the answer may read the
    // counters.
    done(status);
    held->reply(status, fields, std::move(body));
  });
}

void Responder::json(std::string body) {
  reply(200, "application/json", std::move(body));
}

void Responder::fail(const openai::ApiError &error, int retrySeconds,
                     http::Fields more) {
  orBreakOff([&] {
    if (retrySeconds > 0)
      more.emplace_back("Retry-After", std::to_string(retrySeconds));
    reply(error.status, "application/json", error.json(), std::move(more));
  });
}

bool Responder::startEvents() {
  http::Fields fields = common;
  fields.emplace_back("Content-Type", "text/event-stream; charset=utf-8");
  fields.emplace_back("Cache-Control", "no-cache");
  // Proxies such as nginx would otherwise collect events first.
  fields.emplace_back("X-Accel-Buffering", "no");
  return held->startStream(200, fields);
}

void Responder::failEvents(const openai::ApiError &error) {
  orBreakOff([&] {
    write("data: " + error.json() + "\n\ndata: [DONE]\n\n");
    endEvents();
  });
}

void Responder::endEvents() {
  orBreakOff([&] {
    done(200);
    held->endStream();
  });
}

void Responder::clientLeft() {
  // If memory runs out, the counters and the log lack this request.
  (void)guarded([this] {
    done(499);
    return Status();
  });
}

void Responder::done(int status) {
  if (std::exchange(isDone, true))
    return;
  metrics->answered(status);
  if (!log->enabled())
    return;
  char when[32];
  std::time_t seconds = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  std::strftime(when, sizeof when, "%FT%TZ", &utc);
  char rest[64];
  std::snprintf(
      rest, sizeof rest, " %d %.1f ms", status,
      std::chrono::duration<double, std::milli>(pipeline::now() - came)
          .count());
  const http::Request &asked = request();
  // If a request could not be read, at most its method is known.
  std::string what = asked.method.empty() ? "-" : asked.method;
  if (!asked.target.empty())
    what += ' ' + shownPath();
  log->add(std::string(when) + ' ' + asked.peerAddress + " \"" + what + '"' +
           rest + (noted.empty() ? "" : ' ' + noted));
}
