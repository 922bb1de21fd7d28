//===- PipelineReport.cpp - the report about a pipeline's ranks -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineReport.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/trace/JoinMessages.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::app;

using pipeline::modeName;
using pipeline::PipelineOutcome;
using pipeline::RankReport;

void app::writePipelineReport(text::JsonWriter &json,
                              const PipelineOutcome &outcome) {
  nlohmann::ordered_json members = pipeline::toJson(outcome);
  for (const auto &[name, value] : members.items())
    json.key(name).json(value.dump());
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
                std::string(modeName(outcome.options.mode)).c_str(),
                static_cast<long long>(counters.launched),
                static_cast<long long>(counters.accepted), share,
                static_cast<long long>(counters.cancelled),
                static_cast<long long>(counters.computedDead));
  return line;
}

Status app::writeTrace(trace::TraceWriter &writer,
                       std::vector<RankReport> &ranks,
                       const std::vector<std::string> &names) {
  std::vector<std::vector<trace::TraceEvent> *> events;
  for (RankReport &rank : ranks) {
    events.push_back(&rank.events);
    if (rank.clock != ranks.front().clock)
      writeNote("--trace: rank " + std::to_string(rank.rank) +
                " is on another machine, whose clock began at another time: "
                "its events are left out");
    else if (rank.lostEvents > 0)
      writeNote("--trace: rank " + std::to_string(rank.rank) +
                " had no room for " + std::to_string(rank.lostEvents) +
                " events");
  }
  trace::joinMessages(events);
  // Times in the file count from the first event.
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
