//===- JobTrace.cpp - the trace of a job's ranks --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/JobTrace.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/trace/JoinMessages.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

Status pipeline::writeTrace(trace::TraceWriter &writer,
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
