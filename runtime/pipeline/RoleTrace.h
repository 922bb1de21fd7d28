//===- RoleTrace.h - trace events of one role -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records the trace events of a role's thread in a buffer of its own, so that
// threads do not wait for each other.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_ROLETRACE_H
#define SLUICE_RUNTIME_PIPELINE_ROLETRACE_H

#include "runtime/comm/Frame.h"
#include "runtime/device/StepExecutor.h"
#include "runtime/pipeline/Clock.h"
#include "runtime/pipeline/RankReport.h"

#include <vector>

namespace sluice::pipeline {

/// A bounded list of events. Events that come when it is full are only counted.
/// Used by one thread at a time.
class TraceBuffer {
public:
  /// Chosen so that the two buffers of a rank whose report is sent, its stage's
  /// and its communicator's, fit into one report.
  static constexpr size_t capacity =
      (comm::FrameLimits().textBytes - reportBytesBesideEvents) / 2 /
      sizeof(trace::TraceEvent);

  void add(const trace::TraceEvent &event) {
    if (events.size() < capacity)
      events.push_back(event);
    else
      ++lost;
  }

  std::vector<trace::TraceEvent> events;
  uint64_t lost = 0;
};

/// Records one track of one rank. Does nothing without a buffer.
class RoleTrace {
public:
  RoleTrace() = default;
  RoleTrace(TraceBuffer &buffer, int64_t rank, trace::Track track)
      : buffer(&buffer), rank(int32_t(rank)), track(track) {}

  bool isOn() const { return buffer; }

  void step(Time begin, Time end, int64_t rows, int64_t departed,
            uint64_t number) {
    add(trace::Kind::Step, begin, end - begin,
        {rows, departed, int64_t(number)});
  }
  void checkpoint(Time at, int64_t departed, int64_t living) {
    add(trace::Kind::Checkpoint, at, Time(0), {departed, living});
  }
  void waits(Time at, const device::StepWaits &waits) {
    add(trace::Kind::Waits, at, Time(0),
        {waits.barriers, waits.layers, waits.mean.count(),
         waits.longest.count()});
  }
  void notFinite(const Row &row, trace::RowPlace place) {
    add(trace::Kind::NotFinite, now(), Time(0),
        {row.request, row.node, row.position, int64_t(place)});
  }
  void message(Time at, int64_t peer, int64_t bytes, int64_t rows,
               uint64_t step) {
    add(trace::Kind::Message, at, Time(0), {peer, bytes, rows, int64_t(step)});
  }
  void messageArrived(int64_t peer, uint64_t step) {
    add(trace::Kind::Arrived, now(), Time(0),
        {peer, int64_t(trace::Kind::Message), 0, int64_t(step)});
  }
  void control(Time at, int64_t peer, int64_t bytes, const EpochMark &mark) {
    add(trace::Kind::Control, at, Time(0),
        {peer, bytes, mark.request, numberOf(mark)});
  }
  void controlArrived(Time at, int64_t peer, const EpochMark &mark) {
    add(trace::Kind::Arrived, at, Time(0),
        {peer, int64_t(trace::Kind::Control), mark.request, numberOf(mark)});
  }

  void add(trace::Kind kind, Time begin, Time duration,
           std::initializer_list<int64_t> values, double chance = 0) {
    if (!buffer)
      return;
    trace::TraceEvent event;
    event.kind = kind;
    event.track = track;
    event.rank = rank;
    event.begin = begin;
    event.duration = duration;
    event.chance = chance;
    std::copy(values.begin(), values.end(), event.values);
    buffer->add(event);
  }

private:
  /// Returns a number that differs for any two marks of a request.
  static int64_t numberOf(const EpochMark &mark) {
    return mark.confirmed * 2 + mark.ended;
  }

  TraceBuffer *buffer = nullptr;
  int32_t rank = 0;
  trace::Track track = trace::Track::Stage;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_ROLETRACE_H
