//===- TraceEvent.h - an event on a rank, for traces ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record for each event worth seeing: plain numbers of a fixed size, so
// that a rank can keep a bounded buffer of them without formatting or
// allocating, and send it to the rank that writes the file.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TRACE_TRACEEVENT_H
#define SLUICE_RUNTIME_TRACE_TRACEEVENT_H

#include "runtime/core/Head.h"
#include "runtime/core/Rows.h"

#include <cstdint>

namespace sluice::trace {

/// The tracks of a rank, which lie one below the other in the viewer.
enum class Track : uint8_t { Head, Draft, Stage };

/// The kind of an event, and the meaning of its `values`.
enum class Kind : uint8_t {
  Step,       ///< a span: rows, left (at checkpoints), step number
  Checkpoint, ///< rows left, rows that go on
  /// A span from sending to arrival: peer, bytes, rows, number. The sender does
  /// not know when the message arrives. So ranks with real clocks record it
  /// without a duration, and the peer records an Arrived; see joinMessages().
  Message,
  Control,    ///< the same on the control lane: peer, bytes, request, number
  Launch,     ///< to the first stage: request, rows, certain rows, first node
  DraftAsked, ///< to the draft: request, rows, certain rows, first node
  Cancel,     ///< decided by the head: request, epoch, confirmed node
  CancelSeen, ///< reached the rank: request, epoch, confirmed node
  Token,      ///< for the user: request, token
  Finish,     ///< request, FinishReason
  Policy,     ///< request, Verdict, depth, rows in the slot; and `chance`
  Alive,      ///< a counter: guesses alive at the head
  Mailbox,    ///< a counter: frames waiting in the mailbox
  Arrived,    ///< peer, Kind (Message or Control), request of that, number
  /// After threads have computed a step: barriers, layers, and how long a
  /// thread waited in the barriers, in nanoseconds: on average and at most.
  Waits,
  /// A row's numbers are not all finite: request, node, position, RowPlace.
  /// The place says whether they entered the stage or left it; logits count as
  /// numbers that leave. If a row entered a stage with finite numbers and left
  /// it with others, that stage produced them.
  NotFinite,
};
constexpr int kindCount = 16;

/// Where a row was when it was looked at.
enum class RowPlace : uint8_t { ComesIn, GoesOut };

struct TraceEvent {
  Time begin{0};
  Time duration{0}; ///< only of spans
  int64_t values[4] = {0, 0, 0, 0};
  double chance = 0;
  int32_t rank = 0;
  Kind kind = Kind::Step;
  Track track = Track::Stage;
};

} // namespace sluice::trace

#endif // SLUICE_RUNTIME_TRACE_TRACEEVENT_H
