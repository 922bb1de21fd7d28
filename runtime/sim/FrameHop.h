//===- FrameHop.h - the data lane between two ranks -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data lane from one rank to another: a link, its faults, and the receiver,
// which counts frames as a rank does (core/FrameCount.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FRAMEHOP_H
#define SLUICE_RUNTIME_SIM_FRAMEHOP_H

#include "runtime/core/FrameCount.h"
#include "runtime/sim/Invariants.h"
#include "runtime/sim/SimLink.h"
#include "runtime/sim/World.h"

namespace sluice::sim {

/// Carries StepFrame or ResultFrame. Thread-compatible; must not be moved.
template <typename Frame> class FrameHop {
public:
  struct Ends {
    int64_t from = 0, to = 0; ///< ranks
  };
  /// The callbacks of the receiving rank.
  struct Receiver {
    std::function<void(Frame)> take;
    /// A frame is missing, or has come twice and is not taken.
    std::function<void(Status)> missed;
  };

  /// `checksOrder`: the world fails if one frame overtakes another.
  FrameHop(World &world, const LinkTimes &times, Ends ends, bool checksOrder,
           Receiver receiver)
      : world(world), ends(ends), checksOrder(checksOrder),
        receiver(std::move(receiver)),
        link(world.queue, times, /*keepsOrder=*/true,
             [this](Sent sent) { arrive(std::move(sent)); }) {}

  /// Sends a frame of `bytes` and `rows`, and records it in the trace.
  void send(Frame frame, int64_t bytes, int64_t rows) {
    Faults::Passage passage = world.faults.passage();
    uint64_t number = order.send();
    world.breaks.lost += passage.copies == 0;
    world.breaks.repeated += passage.copies > 1;
    for (int copy = 0; copy < passage.copies; ++copy) {
      Time arrives = link.send(
          {copy + 1 < passage.copies ? frame : std::move(frame), number}, bytes,
          passage.delay, passage.overtakes);
      if (ends.from != ends.to)
        world.span(trace::Kind::Message, static_cast<int32_t>(ends.from),
                   trace::Track::Stage, world.queue.now(), arrives,
                   {ends.to, bytes, rows});
    }
  }

  const LinkCounters &counters() const { return link.counters(); }

private:
  struct Sent {
    Frame frame;
    uint64_t number = 0;
  };

  void arrive(Sent sent) {
    if (Status s = order.arrive(sent.number); checksOrder && !s.ok())
      return world.fail(s.withContext("rank " + std::to_string(ends.from) +
                                      " to " + std::to_string(ends.to)));
    if (Status s = count.take(sent.frame.step); !s.ok())
      return receiver.missed(s);
    receiver.take(std::move(sent.frame));
  }

  World &world;
  Ends ends;
  bool checksOrder;
  Receiver receiver;
  ArrivalOrder order;
  FrameCount count;
  SimLink<Sent> link;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FRAMEHOP_H
