//===- PackingOptions.h - options of long work on weights -----------------===//
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

/// Options of work on weights that may take minutes.
struct PackingOptions {
  int64_t threads = 0; // 0 means one for each core
  /// Called every few milliseconds; if it returns true, the work ends with the
  /// error "interrupted". May be empty.
  std::function<bool()> cancelled;

  int64_t threadCount() const {
    return threads > 0 ? threads : cpu::defaultThreadCount();
  }

  /// Returns an error if the work is cancelled.
  Status checkCancelled() const {
    return cancelled && cancelled() ? failure("interrupted") : Status();
  }
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKINGOPTIONS_H
