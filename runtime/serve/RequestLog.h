//===- RequestLog.h - a line for each request -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines that others write without waiting for whoever reads them: the terminal
// of a server may be a pipe that nobody empties.
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

  /// `file`: a descriptor, or -1, and lines are not kept.
  explicit RequestLog(int file) : file(file) {}

  bool enabled() const { return file >= 0; }
  /// `line` without its end. Never waits: where too much has not been written
  /// yet, the line is left out and counted.
  void add(const std::string &line);
  /// Writes what has been added, and how many lines were left out, as far as
  /// that goes without waiting. From one thread.
  void flush();

private:
  const int file;
  std::mutex mutex;
  std::string waiting;
  std::string writing; ///< taken from `waiting`; of who flushes
  uint64_t leftOut = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_REQUESTLOG_H
