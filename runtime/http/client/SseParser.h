//===- SseParser.h - server-sent events, piece by piece -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text/event-stream format of the HTML standard, section 9.2.6
// ("Interpreting an event stream"): lines end with LF, CR or CRLF; `data` lines
// of one event are joined with LF; an empty line ends an event, which is handed
// on if it has a `data` line; lines that begin with a colon are comments. `id`,
// `retry` and unknown fields are read over: they are for clients that
// reconnect. What follows the last empty line is not an event.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_SSEPARSER_H
#define SLUICE_RUNTIME_HTTP_CLIENT_SSEPARSER_H

#include "runtime/base/Status.h"

#include <functional>
#include <string>
#include <string_view>

namespace sluice::http {

struct SseEvent {
  std::string_view name; ///< of the `event` field; empty: "message"
  std::string_view data;
};

/// Finds the events of a stream that comes in pieces of any size. Pure: no I/O,
/// no clock. Thread-compatible.
class SseParser {
public:
  static constexpr size_t defaultMaxBytes = size_t{1} << 20;

  /// `maxBytes` limits both a line and the data of an event.
  explicit SseParser(size_t maxBytes = defaultMaxBytes) : maxBytes(maxBytes) {}

  /// Reads the next piece and calls `onEvent` for each event that it completes;
  /// what the event refers to is valid during the call. An event is complete
  /// with the CR of an empty line, without waiting for an LF after it. Errors:
  /// a line or an event's data exceeds the limit; every later piece is then
  /// refused with the same error.
  Status feed(std::string_view piece,
              const std::function<void(const SseEvent &)> &onEvent);

private:
  void endLine(std::string_view line,
               const std::function<void(const SseEvent &)> &onEvent);
  void takeField(std::string_view name, std::string_view value);
  bool exceeds(size_t bytes);

  size_t maxBytes;
  std::string partial; ///< the line so far, where a piece ended inside it
  std::string data;    ///< of the event so far, an LF after each line
  std::string name;
  bool afterReturn = false; ///< an LF now belongs to the CR before it
  bool atStart = true;      ///< before the first line: a BOM is read over
  Status failed;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_SSEPARSER_H
