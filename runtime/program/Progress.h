//===- Progress.h - a progress line for long work -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PROGRESS_H
#define SLUICE_RUNTIME_PROGRAM_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice {

/// Shows a line on stderr that is rewritten as work proceeds and removed at the
/// end. It appears only on a terminal, and only after the work has taken half a
/// second. For use by one thread.
class Progress {
public:
  /// `what` is the start of the line: "packing weights". `total` is in bytes.
  Progress(std::string what, uint64_t total);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  /// Reports that `done` bytes of the total are finished.
  void update(uint64_t done);

private:
  using Clock = std::chrono::steady_clock;

  std::string what;
  uint64_t total;
  bool terminal;
  bool visible = false;
  Clock::time_point nextUpdate;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PROGRESS_H
