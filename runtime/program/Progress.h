//===- Progress.h - a line that says how far a long wait is ---------------===//
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

/// One line on stderr, rewritten as work goes on and removed at its end. Shown
/// only on a terminal, and only once the work has taken half a second. For one
/// thread.
class Progress {
public:
  /// `what` begins the line: "packing weights". `total` counts bytes.
  Progress(std::string what, uint64_t total);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  /// `done` bytes of the total are finished.
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
