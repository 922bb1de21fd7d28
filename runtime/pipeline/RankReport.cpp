//===- RankReport.cpp - a rank's report at the end of a job ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankReport.h"

#include "runtime/comm/Wire.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace sluice;
using namespace sluice::pipeline;

using comm::WireReader;
using comm::WireWriter;
using trace::TraceEvent;

namespace {

static_assert(std::is_trivially_copyable_v<TraceEvent>);

constexpr int64_t max = std::numeric_limits<int64_t>::max();
/// The sum of two such times fits.
constexpr int64_t maxTime = max / 2;
constexpr int64_t maxRank = 1 << 20;
constexpr int64_t maxStages = 1 << 10;
constexpr int64_t maxName = 128;
constexpr size_t stageBytes = sizeof(uint32_t) + 16 * sizeof(uint64_t);
constexpr size_t trafficBytes = 7 * sizeof(uint64_t);

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void write(WireWriter &out, const StageReport &stage) {
  out.put(static_cast<uint32_t>(stage.name.size()));
  out.put(std::string_view(stage.name));
  out.put(stage.member);
  for (uint64_t count : {stage.steps, stage.rows, stage.departedAtCheckpoint,
                         stage.guesses, stage.droppedAtMailbox,
                         stage.checkpoints, stage.tombstones, stage.barriers})
    out.put(count);
  const LatencyReport &latency = stage.cancelLatency;
  out.put(latency.count);
  for (double number :
       {stage.busySeconds, stage.idleSeconds, stage.waitSeconds,
        latency.p50Micros, latency.p99Micros, latency.maxMicros})
    out.put(number);
}

void write(WireWriter &out, const comm::Traffic &hop) {
  out.put(hop.to);
  for (uint64_t count : {hop.dataMessages, hop.dataBytes, hop.controlMessages,
                         hop.controlBytes, hop.groupMessages, hop.groupBytes})
    out.put(count);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

uint64_t readCount(WireReader &in, const char *what) {
  return static_cast<uint64_t>(in.getInRange<int64_t>(what, 0, max));
}

double readNumber(WireReader &in, const char *what) {
  auto number = in.get<double>();
  if (!std::isfinite(number) || number < 0)
    in.fail(failure(what, " is ", number));
  return number;
}

StageReport readStage(WireReader &in, int64_t rank) {
  StageReport stage;
  stage.rank = rank;
  size_t length = in.getCount("letters of a name", maxName, 1);
  std::span<const uint8_t> name = in.take(length);
  stage.name.assign(name.begin(), name.end());
  stage.member = in.getInRange<int64_t>("member", 0, maxRank);
  stage.steps = readCount(in, "steps");
  stage.rows = readCount(in, "rows");
  stage.departedAtCheckpoint = readCount(in, "rows that left");
  stage.guesses = readCount(in, "guesses");
  stage.droppedAtMailbox = readCount(in, "rows dropped in the mailbox");
  stage.checkpoints = readCount(in, "checkpoints");
  stage.tombstones = readCount(in, "tombstones");
  stage.barriers = readCount(in, "barriers");
  stage.cancelLatency.count = in.getInRange<int64_t>("cancels", 0, max);
  stage.busySeconds = readNumber(in, "busy time");
  stage.idleSeconds = readNumber(in, "idle time");
  stage.waitSeconds = readNumber(in, "time at barriers");
  stage.cancelLatency.p50Micros = readNumber(in, "a latency");
  stage.cancelLatency.p99Micros = readNumber(in, "a latency");
  stage.cancelLatency.maxMicros = readNumber(in, "a latency");
  return stage;
}

comm::Traffic readTraffic(WireReader &in) {
  comm::Traffic hop;
  hop.to = in.getInRange<int64_t>("rank", 0, maxRank);
  hop.dataMessages = readCount(in, "messages");
  hop.dataBytes = readCount(in, "bytes");
  hop.controlMessages = readCount(in, "control messages");
  hop.controlBytes = readCount(in, "control bytes");
  hop.groupMessages = readCount(in, "messages of a group");
  hop.groupBytes = readCount(in, "bytes of a group");
  return hop;
}

/// Checks what the writer of the trace relies on.
Status check(const TraceEvent &event, int64_t rank) {
  if (static_cast<int>(event.kind) >= trace::kindCount ||
      event.track > trace::Track::Stage)
    return failure("no trace event is of kind ", static_cast<int>(event.kind),
                   " in lane ", static_cast<int>(event.track));
  if (event.rank != rank)
    return failure("a trace event is of rank ", event.rank);
  for (Time time : {event.begin, event.duration})
    if (time.count() < 0 || time.count() > maxTime)
      return failure("a trace event is at ", event.begin.count(), " ns, for ",
                     event.duration.count(), " ns");
  return {};
}

} // namespace

void RankReport::forgetTimesOfOtherClocks(uint64_t head) {
  if (clock == head)
    return;
  for (StageReport &stage : stages)
    stage.cancelLatency = {};
  lostEvents += events.size();
  events.clear();
}

std::string RankReport::serialize() const {
  comm::Bytes bytes;
  WireWriter out(bytes);
  out.put(rank);
  out.put(clock);
  out.put(lostEvents);
  out.putCount(stages);
  for (const StageReport &stage : stages)
    write(out, stage);
  out.putCount(traffic);
  for (const comm::Traffic &hop : traffic)
    write(out, hop);
  std::string text(bytes.begin(), bytes.end());
  text.append(reinterpret_cast<const char *>(events.data()),
              events.size() * sizeof(TraceEvent));
  return text;
}

Expected<RankReport> RankReport::parse(std::string_view text) {
  WireReader in({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  RankReport report;
  report.rank = in.getInRange<int64_t>("rank", 0, maxRank);
  report.clock = in.get<uint64_t>();
  report.lostEvents = readCount(in, "lost events");
  size_t stages = in.getCount("stages", maxStages, stageBytes);
  for (size_t i = 0; i < stages && in.ok(); ++i)
    report.stages.push_back(readStage(in, report.rank));
  size_t hops = in.getCount("hops", maxRank, trafficBytes);
  for (size_t i = 0; i < hops && in.ok(); ++i)
    report.traffic.push_back(readTraffic(in));
  if (in.ok() && in.remaining() % sizeof(TraceEvent) != 0)
    in.fail(failure(in.remaining(),
                    " bytes are not a whole number of trace events"));
  report.events.resize(in.ok() ? in.remaining() / sizeof(TraceEvent) : 0);
  for (TraceEvent &event : report.events) {
    std::memcpy(&event, in.take(sizeof(TraceEvent)).data(), sizeof(TraceEvent));
    if (Status s = check(event, report.rank); !s.ok())
      in.fail(std::move(s));
    if (!in.ok())
      break;
  }
  if (Status s = in.finish(); !s.ok())
    return s.withContext("a rank's report");
  return report;
}
