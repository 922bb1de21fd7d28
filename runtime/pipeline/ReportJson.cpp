//===- ReportJson.cpp - the JSON report of a run --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/ReportJson.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::pipeline;

using nlohmann::ordered_json;

std::string_view pipeline::modeName(SpeculationMode mode) {
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

static ordered_json speculationJson(const PipelineOutcome &outcome) {
  const SpeculationCounters &counters = outcome.speculation;
  return {{"mode", modeName(outcome.options.mode)},
          {"depth", outcome.options.depth},
          {"width", outcome.options.width},
          {"launched", counters.launched},
          {"accepted", counters.accepted},
          {"cancelled", counters.cancelled},
          {"computed_dead", counters.computedDead},
          {"epochs", counters.epochs},
          {"drafted", counters.drafted}};
}

static ordered_json workerJson(const StageReport &worker) {
  const LatencyReport &latency = worker.cancelLatency;
  ordered_json json = {{"name", worker.name},
                       {"rank", worker.rank},
                       {"steps", worker.steps},
                       {"rows", worker.rows},
                       {"dropped_at_door", worker.droppedAtMailbox},
                       {"left_at_checkpoints", worker.departedAtCheckpoint},
                       {"guesses", worker.guesses},
                       {"busy_seconds", worker.busySeconds},
                       {"idle_seconds", worker.idleSeconds},
                       {"checkpoints", worker.checkpoints},
                       {"tombstones", worker.tombstones},
                       {"cancel_latency_us",
                        {{"count", latency.count},
                         {"p50", latency.p50Micros},
                         {"p99", latency.p99Micros},
                         {"max", latency.maxMicros}}}};
  if (worker.barriers > 0) {
    json["barriers"] = worker.barriers;
    json["wait_seconds"] = worker.waitSeconds;
  }
  return json;
}

/// Whether `worker` is another member of the group whose first member is
/// `stage`.
static bool isMemberOf(const StageReport &worker, const StageReport &stage) {
  return worker.member > 0 && stage.member == 0 &&
         worker.name == stage.name + " member " + std::to_string(worker.member);
}

/// Returns the other members of a stage's group, which compute the same steps.
static ordered_json membersJson(const PipelineOutcome &outcome,
                                const StageReport &stage) {
  ordered_json members = ordered_json::array();
  for (const RankReport &rank : outcome.ranks)
    for (const StageReport &worker : rank.stages)
      if (isMemberOf(worker, stage))
        members.push_back(workerJson(worker));
  return members;
}

/// `accepted` is the number of guesses that came true, all of which every stage
/// has computed.
static ordered_json stageJson(const StageReport &stage, int64_t accepted) {
  ordered_json json = workerJson(stage);
  json["computed_dead"] =
      std::max<int64_t>(0, int64_t(stage.guesses) - accepted);
  return json;
}

static ordered_json trafficJson(const std::vector<RankReport> &ranks) {
  uint64_t messages = 0, bytes = 0;
  ordered_json hops = ordered_json::array();
  for (const RankReport &rank : ranks)
    for (const comm::Traffic &hop : rank.traffic) {
      if (hop.dataMessages + hop.controlMessages + hop.groupMessages == 0)
        continue;
      messages += hop.dataMessages + hop.controlMessages + hop.groupMessages;
      bytes += hop.dataBytes + hop.controlBytes + hop.groupBytes;
      hops.push_back({{"from", rank.rank},
                      {"to", hop.to},
                      {"messages", hop.dataMessages},
                      {"bytes", hop.dataBytes},
                      {"control_messages", hop.controlMessages},
                      {"control_bytes", hop.controlBytes},
                      {"group_messages", hop.groupMessages},
                      {"group_bytes", hop.groupBytes}});
    }
  return {{"messages", messages}, {"bytes", bytes}, {"hops", hops}};
}

ordered_json pipeline::toJson(const PipelineOutcome &outcome) {
  ordered_json json = {{"speculation", speculationJson(outcome)}};
  ordered_json stages = ordered_json::array();
  for (const RankReport &rank : outcome.ranks)
    for (const StageReport &worker : rank.stages) {
      // The draft expands guesses that are never sent, and not all that come
      // true, so it is not known how many of its rows were useless.
      if (worker.name == "draft")
        json["draft"] = workerJson(worker);
      else if (worker.member == 0) {
        ordered_json stage = stageJson(worker, outcome.speculation.accepted);
        if (ordered_json members = membersJson(outcome, worker);
            !members.empty())
          stage["members"] = members;
        stages.push_back(stage);
      }
    }
  json["stages"] = stages;
  json["traffic"] = trafficJson(outcome.ranks);
  return json;
}
