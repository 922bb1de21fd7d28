//===- JoinMessages.h - from sent to arrived ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TRACE_JOINMESSAGES_H
#define SLUICE_RUNTIME_TRACE_JOINMESSAGES_H

#include "runtime/trace/TraceEvent.h"

#include <span>
#include <vector>

namespace sluice::trace {

/// Gives each Message and Control its duration by the Arrived of its peer, and
/// takes those away. `ranks` are lists of events whose times are of one clock.
/// A message whose arrival is not known keeps no duration.
void joinMessages(std::span<std::vector<TraceEvent> *const> ranks);

} // namespace sluice::trace

#endif // SLUICE_RUNTIME_TRACE_JOINMESSAGES_H
