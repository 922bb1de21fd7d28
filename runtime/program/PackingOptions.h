//===- PackingOptions.h - how to do work that may take minutes ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PACKINGOPTIONS_H
#define SLUICE_RUNTIME_PROGRAM_PACKINGOPTIONS_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/CorePlan.h"

#include <cstdint>
#include <functional>

namespace sluice {

/// How to do work on weights that may take minutes.
struct PackingOptions {
  int64_t threads = 0; // 0: one for each core
  /// Asked every few milliseconds; when true, the work ends with the error
  /// "interrupted". May be empty.
  std::function<bool()> cancelled;

  int64_t threadCount() const {
    return threads > 0 ? threads : cpu::defaultThreadCount();
  }

  /// Error: it is.
  Status checkCancelled() const {
    return cancelled && cancelled() ? failure("interrupted") : Status();
  }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKINGOPTIONS_H
