//===- Summary.cpp - the results of a run ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Summary.h"

#include "runtime/bench/Numbers.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::bench;

namespace {

double toMs(Time time) { return static_cast<double>(time.count()) / 1e6; }

std::optional<double> *limitNamed(GoodputLimits &limits,
                                  std::string_view name) {
  if (name == "ttft")
    return &limits.ttftMs;
  if (name == "tpot")
    return &limits.tpotMs;
  if (name == "itl")
    return &limits.itlMs;
  return name == "e2e" ? &limits.e2eMs : nullptr;
}

Status parseLimit(std::string_view part, GoodputLimits &limits) {
  size_t colon = std::min(part.find(':'), part.size());
  std::string_view name = part.substr(0, colon);
  std::optional<double> *limit = limitNamed(limits, name);
  if (!limit)
    return failure("'", name, "' is none of ttft, tpot, itl, e2e");
  if (*limit)
    return failure(name, " is given twice");
  double value = 0;
  if (!readWhole(part.substr(std::min(colon + 1, part.size())), value) ||
      !(value > 0))
    return failure(name, " needs a number of milliseconds above 0, as in ",
                   name, ":500");
  *limit = value;
  return {};
}

/// Samples in milliseconds, one for each request or gap.
struct Samples {
  std::vector<double> ttft, itl, tpot, e2e, startDelay;
};

void addSuccess(const RequestRecord &record, Summary &summary,
                Samples &samples) {
  ++summary.completed;
  summary.promptTokens += record.promptTokens;
  summary.outputTokens += record.outputTokens;
  summary.countedInPieces += !record.tokensFromServer;
  samples.ttft.push_back(toMs(record.ttft()));
  samples.e2e.push_back(toMs(record.e2e()));
  for (Time gap : record.gaps)
    samples.itl.push_back(toMs(gap));
  if (record.outputTokens > 1)
    samples.tpot.push_back(record.tpotNanos() / 1e6);
}

void addFailure(const RequestRecord &record, Summary &summary) {
  ++summary.failed;
  ++summary.errorsByKind[record.errorKind];
  if (summary.firstError.empty())
    summary.firstError = record.error;
}

void setRates(Summary &summary) {
  if (summary.durationSeconds <= 0)
    return;
  double perSecond = 1 / summary.durationSeconds;
  summary.requestsPerSecond = double(summary.completed) * perSecond;
  summary.outputTokensPerSecond = double(summary.outputTokens) * perSecond;
  summary.totalTokensPerSecond =
      double(summary.promptTokens + summary.outputTokens) * perSecond;
}

} // namespace

Expected<GoodputLimits> bench::parseGoodput(std::string_view text) {
  GoodputLimits limits;
  limits.text = text;
  for (std::string_view part : splitAt(text, ','))
    SLUICE_RETURN_IF_ERROR(parseLimit(part, limits));
  return limits;
}

bool bench::isGood(const RequestRecord &record, const GoodputLimits &limits) {
  auto within = [](const std::optional<double> &limit, double valueMs) {
    return !limit || valueMs <= *limit;
  };
  Time longest{0};
  for (Time gap : record.gaps)
    longest = std::max(longest, gap);
  return within(limits.ttftMs, toMs(record.ttft())) &&
         within(limits.tpotMs, record.tpotNanos() / 1e6) &&
         within(limits.itlMs, toMs(longest)) &&
         within(limits.e2eMs, toMs(record.e2e()));
}

Summary bench::summarize(const RunRecord &run, const GoodputLimits &limits) {
  Summary summary;
  Samples samples;
  summary.requests = run.requests.size();
  summary.notStarted = run.notStarted;
  summary.durationSeconds = toMs(run.duration) / 1e3;
  summary.peakInFlight = run.peakInFlight;
  summary.stopped = run.stopped;
  for (const RequestRecord &record : run.requests) {
    samples.startDelay.push_back(toMs(record.startDelay));
    summary.heldBack += record.heldBack;
    summary.lateStarts += !record.heldBack && record.startDelay > lateStart;
    if (record.cancelled())
      ++summary.cancelled;
    else if (!record.succeeded())
      addFailure(record, summary);
    else
      addSuccess(record, summary, samples);
    if (record.succeeded() && isGood(record, limits)) {
      ++summary.good;
      summary.goodTokens += record.outputTokens;
    }
  }
  summary.ttftMs = describe(std::move(samples.ttft));
  summary.itlMs = describe(std::move(samples.itl));
  summary.tpotMs = describe(std::move(samples.tpot));
  summary.e2eMs = describe(std::move(samples.e2e));
  summary.startDelayMs = describe(std::move(samples.startDelay));
  setRates(summary);
  return summary;
}
