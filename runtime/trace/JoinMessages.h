//===- JoinMessages.h - joins sends and arrivals of messages --------------===//
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

/// Sets the duration of each Message and Control by the Arrived event of its
/// peer, and removes the Arrived events. `ranks` are lists of events with times
/// of one clock. A message without a known arrival keeps no duration.
void joinMessages(std::span<std::vector<TraceEvent> *const> ranks);

} // namespace sluice::trace

#endif // SLUICE_RUNTIME_TRACE_JOINMESSAGES_H
