//===- World.h - state that all actors share ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that all actors of a run share: the clock, the faults, the trace,
// and the first error of any actor.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_WORLD_H
#define SLUICE_RUNTIME_SIM_WORLD_H

#include "runtime/base/Status.h"
#include "runtime/sim/EventQueue.h"
#include "runtime/sim/Faults.h"
#include "runtime/trace/TraceWriter.h"

namespace sluice::sim {

/// Counts the faults that a run does not survive.
struct Breaks {
  int64_t lost = 0, repeated = 0; ///< messages
  int64_t crashed = 0;            ///< ranks
  bool any() const { return lost > 0 || repeated > 0 || crashed > 0; }
};

struct World {
  World(const FaultRates &rates, uint64_t seed, trace::TraceWriter *trace)
      : faults(rates, seed), trace(trace) {}

  EventQueue queue;
  Faults faults;
  trace::TraceWriter *trace; ///< null without a trace
  Breaks breaks;
  Status failure; ///< the first error ends the run

  void fail(const Status &error) {
    if (failure.ok())
      failure = error;
  }

  /// Adds an event that happens now to the trace.
  void note(trace::Kind kind, int32_t rank, trace::Track track,
            std::initializer_list<int64_t> values) {
    if (trace)
      trace->write(makeEvent(kind, rank, track, queue.now(), Time(0), values));
  }
  /// Adds a span to the trace.
  void span(trace::Kind kind, int32_t rank, trace::Track track, Time begin,
            Time end, std::initializer_list<int64_t> values) {
    if (trace)
      trace->write(makeEvent(kind, rank, track, begin, end - begin, values));
  }
  /// Adds a decision of the head's policy to the trace.
  void policy(const PolicyNote &decision) {
    trace::TraceEvent event = makeEvent(
        trace::Kind::Policy, 0, trace::Track::Head, queue.now(), Time(0),
        {decision.request, static_cast<int64_t>(decision.verdict),
         decision.depth, decision.rowsInSlot});
    event.chance = decision.chance;
    trace->write(event);
  }

private:
  static trace::TraceEvent makeEvent(trace::Kind kind, int32_t rank,
                                     trace::Track track, Time begin,
                                     Time duration,
                                     std::initializer_list<int64_t> values) {
    trace::TraceEvent event;
    event.kind = kind;
    event.rank = rank;
    event.track = track;
    event.begin = begin;
    event.duration = duration;
    std::copy(values.begin(), values.end(), event.values);
    return event;
  }
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_WORLD_H
