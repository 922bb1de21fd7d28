//===- Report.cpp - what a rank reports at the end ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace sluice;
using namespace sluice::pipeline;

using Json = nlohmann::json;

static_assert(std::is_trivially_copyable_v<trace::TraceEvent>);

double LatencySamples::percentileMicros(double share) const {
  if (samples.empty())
    return 0;
  std::vector<Time> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  auto index = static_cast<size_t>(share * double(sorted.size() - 1) + 0.5);
  return std::chrono::duration<double, std::micro>(sorted[index]).count();
}

LatencyReport pipeline::summarize(const LatencySamples &samples) {
  return {static_cast<int64_t>(samples.count()), samples.percentileMicros(0.5),
          samples.percentileMicros(0.99), samples.percentileMicros(1)};
}

namespace sluice::pipeline {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LatencyReport, count, p50Micros, p99Micros,
                                   maxMicros)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageReport, name, rank, steps, rows,
                                   droppedAtDoor, leftAtCheckpoint, checkpoints,
                                   tombstones, busySeconds, idleSeconds,
                                   cancelLatency)

} // namespace sluice::pipeline

namespace sluice::comm {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Traffic, to, dataMessages, dataBytes,
                                   controlMessages, controlBytes)

} // namespace sluice::comm

namespace sluice::pipeline {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, rank, stages, traffic)

} // namespace sluice::pipeline

std::string RankReport::serialize() const {
  std::string text =
      Json(*this).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  text.append(reinterpret_cast<const char *>(events.data()),
              events.size() * sizeof(trace::TraceEvent));
  return text;
}

Expected<RankReport> RankReport::parse(std::string_view text) {
  size_t line = text.find('\n');
  if (line == std::string_view::npos)
    return failure("a rank's report: has no end of line");
  std::string_view raw = text.substr(line + 1);
  if (raw.size() % sizeof(trace::TraceEvent) != 0)
    return failure("a rank's report: ", raw.size(),
                   " bytes are not a whole number of trace events");
  RankReport report;
  // The library reports what does not fit by exceptions, which end here.
  try {
    report = Json::parse(text.substr(0, line)).get<RankReport>();
  } catch (const Json::exception &error) {
    return failure("a rank's report: ", error.what());
  }
  report.events.resize(raw.size() / sizeof(trace::TraceEvent));
  std::memcpy(report.events.data(), raw.data(), raw.size());
  return report;
}
