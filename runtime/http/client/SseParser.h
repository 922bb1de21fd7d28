//===- SseParser.h - an incremental parser of server-sent events ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses the text/event-stream format of the HTML standard, section 9.2.6
// ("Interpreting an event stream"). Lines end with LF, CR or CRLF. The `data`
// lines of an event are joined with LF. An empty line ends an event, which is
// dispatched if it has a `data` line. Lines that begin with a colon are
// comments. `id`, `retry` and unknown fields are ignored, because only clients
// that reconnect need them. Text after the last empty line is not an event.
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
  std::string_view name; ///< the `event` field; empty means "message"
  std::string_view data;
};

/// Finds the events of a stream that comes in pieces of any size. Pure: no I/O,
/// no clock. Not thread-safe.
class SseParser {
public:
  static constexpr size_t defaultMaxBytes = size_t{1} << 20;

  /// `maxBytes` limits both a line and the data of an event.
  explicit SseParser(size_t maxBytes = defaultMaxBytes) : maxBytes(maxBytes) {}

  /// Parses the next piece and calls `onEvent` for each event that it
  /// completes; the event's texts are valid during the call. An event is
  /// complete with the CR of an empty line, without waiting for an LF. Fails if
  /// a line or an event's data exceeds the limit; every later call then fails
  /// with the same error.
  Status feed(std::string_view piece,
              const std::function<void(const SseEvent &)> &onEvent);

private:
  void endLine(std::string_view line,
               const std::function<void(const SseEvent &)> &onEvent);
  void takeField(std::string_view name, std::string_view value);
  bool exceeds(size_t bytes);

  size_t maxBytes;
  std::string partial; ///< a line whose end has not come
  std::string data;    ///< of the current event, with an LF after each line
  std::string name;
  bool afterReturn = false; ///< an LF now belongs to the previous CR
  bool atStart = true;      ///< before the first line, where a BOM is skipped
  Status failed;
};

} // namespace sluice::http

#endif // SLUICE_RUNTIME_HTTP_CLIENT_SSEPARSER_H
