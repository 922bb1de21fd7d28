//===- Admission.h - what decides when a request may begin ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_ADMISSION_H
#define SLUICE_RUNTIME_CORE_ADMISSION_H

#include "runtime/core/Rows.h"

namespace sluice {

/// A prefix in whole pages that a waiting request has in common with a running
/// request, and whose rows the running request is computing now. The waiting
/// request can wait for these pages instead of computing them.
struct ComingPrefix {
  RequestId from = 0; ///< the running request
  /// The running request's first node, which tells it from later requests of
  /// its slot.
  NodeId firstNode = 0;
  int64_t pages = 0;
  /// Pages of the waiting request's known tokens after the prefix.
  int64_t rest = 0;
};

/// Free slots and pages that are reserved for requests ahead of the one to
/// admit.
struct HeadClaims {
  int64_t slots = 0, pages = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_ADMISSION_H
