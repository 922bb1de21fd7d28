//===- TraceWriter.h - writes traces for Perfetto -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the format of Chrome's tracing ("Trace Event Format", JSON object
// form), which Perfetto (https://ui.perfetto.dev) opens: a process for each
// rank with a track for each role, slices for steps, marks for checkpoints,
// cancels, launches and tokens, spans of their own for messages, and counters.
// Times are in microseconds since the start, with nanoseconds as decimals.
//
//   Expected<TraceWriter> trace = TraceWriter::create("t.json");
//   trace->nameRank(0, "rank 0 (n0): head, draft");
//   for (const TraceEvent &event : events)
//     trace->write(event);
//   return trace->finish();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TRACE_TRACEWRITER_H
#define SLUICE_RUNTIME_TRACE_TRACEWRITER_H

#include "runtime/base/AtomicFile.h"
#include "runtime/trace/TraceEvent.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::trace {

/// Streams events to a file, in any order of their times; memory does not grow
/// with their number. The file appears only when finish() succeeds. An error
/// while writing is kept until finish() returns it. Thread-compatible.
class TraceWriter {
public:
  /// Fails if the folder is missing or not writable.
  static Expected<TraceWriter> create(const std::string &path);

  /// Names a rank. Characters that are not UTF-8 or not printable are replaced.
  void nameRank(int32_t rank, std::string_view name);
  /// Names a track of a rank; an unnamed track is called after its role.
  void nameTrack(int32_t rank, Track track, std::string_view name);

  void write(const TraceEvent &event);

  /// Ends the file; nothing may be written afterwards. Fails if a write since
  /// create() failed, or if the file cannot be put in its place.
  Status finish();

private:
  explicit TraceWriter(AtomicFile file);
  /// Starts an object of the list with its type, place and time.
  void begin(char type, int32_t rank, int64_t track, Time at);
  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, int64_t value);
  void real(std::string_view key, double value);
  void micros(std::string_view key, Time value);
  void openArguments();
  void end();
  void metadata(int32_t rank, int64_t track, std::string_view what,
                std::string_view name);
  void writeMessage(const TraceEvent &event);
  void writeInstant(const TraceEvent &event);
  void flush();

  AtomicFile file;
  std::string buffer;
  Status failed;
  uint64_t messages = 0; ///< numbers that identify the spans of messages
  bool first = true;
  bool needComma = false;
  bool inArguments = false;
};

} // namespace sluice::trace

#endif // SLUICE_RUNTIME_TRACE_TRACEWRITER_H
