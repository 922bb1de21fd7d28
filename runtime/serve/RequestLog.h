//===- RequestLog.h - a log with a line for each request ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects log lines in memory, so that the threads that add them never wait
// for the log's reader: a server's terminal may be a pipe that is not being
// read.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_REQUESTLOG_H
#define SLUICE_RUNTIME_SERVE_REQUESTLOG_H

#include <cstdint>
#include <mutex>
#include <string>

namespace sluice::serve {

/// Thread-safe.
class RequestLog {
public:
  static constexpr size_t maxBytes = size_t{1} << 20;

  /// `file` is a file descriptor, or -1 to keep no lines.
  explicit RequestLog(int file) : file(file) {}

  bool enabled() const { return file >= 0; }
  /// Adds a line; `line` has no newline. Never waits: if too much is unwritten,
  /// the line is dropped and counted.
  void add(const std::string &line);
  /// Writes the added lines and the number of dropped ones, as far as this is
  /// possible without waiting. Only one thread may call it.
  void flush();

private:
  const int file;
  std::mutex mutex;
  std::string waiting;
  std::string writing; ///< taken from `waiting` by flush()
  uint64_t leftOut = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_REQUESTLOG_H
