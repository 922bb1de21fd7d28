//===- PipelineReport.cpp - what the ranks did ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineReport.h"

#include <algorithm>
#include <cstdio>

using namespace sluice;
using namespace sluice::app;

using pipeline::RankReport;
using pipeline::StageReport;

namespace {

std::string_view modeName(SpeculationMode mode) {
  switch (mode) {
  case SpeculationMode::Off:
    return "off";
  case SpeculationMode::Sync:
    return "sync";
  case SpeculationMode::Async:
    break;
  }
  return "async";
}

void writeSpeculation(JsonWriter &json, const PipelineOutcome &outcome) {
  const SpeculationCounters &counters = outcome.speculation;
  json.key("speculation").beginObject();
  json.key("mode").string(modeName(outcome.mode));
  json.key("launched").number(counters.launched);
  json.key("accepted").number(counters.accepted);
  json.key("cancelled").number(counters.cancelled);
  json.key("computed_dead").number(counters.computedDead);
  json.key("epochs").number(counters.epochs);
  json.key("drafted").number(counters.drafted);
  json.endObject();
}

void writeStage(JsonWriter &json, const StageReport &stage) {
  json.beginObject();
  json.key("name").string(stage.name);
  json.key("rank").number(stage.rank);
  json.key("steps").number(int64_t(stage.steps));
  json.key("rows").number(int64_t(stage.rows));
  json.key("dropped_at_door").number(int64_t(stage.droppedAtDoor));
  json.key("left_at_checkpoints").number(int64_t(stage.leftAtCheckpoint));
  json.key("busy_seconds").number(stage.busySeconds);
  json.key("idle_seconds").number(stage.idleSeconds);
  json.key("checkpoints").number(int64_t(stage.checkpoints));
  json.key("tombstones").number(int64_t(stage.tombstones));
  json.key("cancel_latency_us").beginObject();
  json.key("count").number(stage.cancelLatency.count);
  json.key("p50").number(stage.cancelLatency.p50Micros);
  json.key("p99").number(stage.cancelLatency.p99Micros);
  json.key("max").number(stage.cancelLatency.maxMicros);
  json.endObject();
  json.endObject();
}

void writeTraffic(JsonWriter &json, const std::vector<RankReport> &ranks) {
  json.key("traffic").beginArray();
  for (const RankReport &rank : ranks)
    for (const comm::Traffic &hop : rank.traffic) {
      if (hop.dataMessages == 0 && hop.controlMessages == 0)
        continue;
      json.beginObject();
      json.key("from").number(rank.rank);
      json.key("to").number(hop.to);
      json.key("messages").number(int64_t(hop.dataMessages));
      json.key("bytes").number(int64_t(hop.dataBytes));
      json.key("control_messages").number(int64_t(hop.controlMessages));
      json.key("control_bytes").number(int64_t(hop.controlBytes));
      json.endObject();
    }
  json.endArray();
}

} // namespace

void app::writePipelineReport(JsonWriter &json,
                              const PipelineOutcome &outcome) {
  writeSpeculation(json, outcome);
  json.key("stages").beginArray();
  for (const RankReport &rank : outcome.ranks)
    for (const StageReport &stage : rank.stages)
      writeStage(json, stage);
  json.endArray();
  writeTraffic(json, outcome.ranks);
}

std::string app::describeSpeculation(const PipelineOutcome &outcome) {
  const SpeculationCounters &counters = outcome.speculation;
  double share = counters.launched > 0 ? 100.0 * double(counters.accepted) /
                                             double(counters.launched)
                                       : 0;
  char line[200];
  std::snprintf(line, sizeof(line),
                "speculation (%s): %lld guesses sent, %lld accepted (%.1f %%), "
                "%lld cancelled, %lld of them computed to their end",
                std::string(modeName(outcome.mode)).c_str(),
                static_cast<long long>(counters.launched),
                static_cast<long long>(counters.accepted), share,
                static_cast<long long>(counters.cancelled),
                static_cast<long long>(counters.computedDead));
  return line;
}

Status app::writeTrace(trace::TraceWriter &writer,
                       const std::vector<RankReport> &ranks,
                       const std::vector<std::string> &names) {
  // Times in the file begin with the first event.
  Time first = Time::max();
  for (const RankReport &rank : ranks)
    for (const trace::TraceEvent &event : rank.events)
      first = std::min(first, event.begin);
  for (size_t rank = 0; rank < names.size(); ++rank)
    writer.nameRank(int32_t(rank), names[rank]);
  for (const RankReport &rank : ranks)
    for (trace::TraceEvent event : rank.events) {
      event.begin -= first;
      writer.write(event);
    }
  return writer.finish().withContext("--trace");
}
