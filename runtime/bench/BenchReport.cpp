//===- BenchReport.cpp - the report of a run ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/BenchReport.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::bench;

using nlohmann::ordered_json;

namespace {

double toMs(Time time) { return static_cast<double>(time.count()) / 1e6; }

std::string dump(const ordered_json &value, int indent) {
  return value.dump(indent, ' ', false,
                    ordered_json::error_handler_t::replace) +
         "\n";
}

ordered_json toJson(const Statistics &statistics) {
  if (statistics.count == 0)
    return nullptr;
  return {{"mean", statistics.mean},
          {"p50", statistics.p50},
          {"p90", statistics.p90},
          {"p99", statistics.p99},
          {"max", statistics.max}};
}

ordered_json toJson(const BenchOptions &options) {
  const WorkloadOptions &workload = options.workload;
  bool traced = !workload.traceFile.empty();
  ordered_json json = {{"requests", workload.requests},
                       {"seed", workload.seed}};
  if (traced) {
    json["trace_file"] = workload.traceFile;
  } else if (workload.concurrency > 0) {
    json["concurrency"] = workload.concurrency;
  } else {
    json["arrival"] = arrivalName(workload.arrival);
    if (workload.arrival != Arrival::All)
      json["mean_interval_ms"] = workload.meanIntervalMs;
    if (workload.arrival == Arrival::Gamma)
      json["burstiness"] = workload.burstiness;
  }
  if (!traced) {
    json["prompt_tokens"] = workload.promptTokens.spelling();
    json["output_tokens"] = workload.outputTokens.spelling();
  }
  json["prompt_form"] =
      options.prompt.form == PromptForm::Text ? "text" : "tokens";
  json["shared_prefix_tokens"] = options.prompt.sharedPrefixTokens;
  json["temperature"] = options.temperature;
  if (options.maxConcurrency > 0)
    json["max_concurrency"] = options.maxConcurrency;
  json["warmup_requests"] = options.warmupRequests;
  json["timeout_seconds"] = options.timeoutSeconds;
  for (const auto &[name, value] : options.target)
    json[name] = value;
  return json;
}

void addGoodput(ordered_json &json, const Summary &summary,
                const GoodputLimits &limits) {
  if (!limits.any())
    return;
  double seconds = summary.durationSeconds;
  json["goodput_limits"] = limits.text;
  json["goodput_requests"] = summary.good;
  json["goodput_requests_per_second"] =
      seconds > 0 ? double(summary.good) / seconds : 0;
  json["goodput_tokens_per_second"] =
      seconds > 0 ? double(summary.goodTokens) / seconds : 0;
}

/// The lines of a table, each with a name and values in columns.
class Table {
public:
  void line(const char *name, double value, const char *format) {
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    row(name, text);
  }
  void line(const char *name, size_t value) {
    row(name, std::to_string(value).c_str());
  }
  void line(const char *name, const Statistics &values) {
    if (values.count == 0)
      return row(name, "-");
    char text[128];
    std::snprintf(text, sizeof(text), "%10.2f %10.2f %10.2f %10.2f %10.2f",
                  values.mean, values.p50, values.p90, values.p99, values.max);
    row(name, text);
  }
  void row(const char *name, const char *value) {
    char text[256];
    std::snprintf(text, sizeof(text), "%-28s %s\n", name, value);
    out += text;
  }

  std::string out;
};

void addErrors(Table &table, const Summary &summary) {
  for (const auto &[kind, count] : summary.errorsByKind)
    table.line(("  " + kind).c_str(), count);
  if (!summary.firstError.empty())
    table.out += "  the first: " + summary.firstError + "\n";
}

} // namespace

std::string bench::reportJson(const Summary &summary,
                              const BenchOptions &options) {
  ordered_json json = {
      {"requests", summary.requests},
      {"completed", summary.completed},
      {"errors", summary.failed},
      {"errors_by_kind", ordered_json::object()},
      {"cancelled", summary.cancelled},
      {"not_started", summary.notStarted},
      {"stopped", summary.stopped},
      {"duration_seconds", summary.durationSeconds},
      {"prompt_tokens", summary.promptTokens},
      {"output_tokens", summary.outputTokens},
      {"requests_counted_in_pieces", summary.countedInPieces},
      {"throughput_tokens_per_second", summary.outputTokensPerSecond},
      {"total_tokens_per_second", summary.totalTokensPerSecond},
      {"throughput_requests_per_second", summary.requestsPerSecond},
      {"ttft_ms", toJson(summary.ttftMs)},
      {"itl_ms", toJson(summary.itlMs)},
      {"tpot_ms", toJson(summary.tpotMs)},
      {"e2e_ms", toJson(summary.e2eMs)},
      {"peak_in_flight", summary.peakInFlight},
      {"start_delay_ms", toJson(summary.startDelayMs)},
      {"late_starts", summary.lateStarts},
      {"held_back", summary.heldBack}};
  for (const auto &[kind, count] : summary.errorsByKind)
    json["errors_by_kind"][kind] = count;
  if (!summary.firstError.empty())
    json["first_error"] = summary.firstError;
  addGoodput(json, summary, options.goodput);
  json["workload"] = toJson(options);
  return dump(json, 2);
}

std::string bench::reportTable(const Summary &summary,
                               const BenchOptions &options) {
  Table table;
  table.line("requests completed", summary.completed);
  table.line("requests failed", summary.failed);
  addErrors(table, summary);
  if (summary.stopped) {
    table.line("requests cancelled", summary.cancelled);
    table.line("requests not started", summary.notStarted);
  }
  table.line("duration, s", summary.durationSeconds, "%.3f");
  table.line("prompt tokens", static_cast<size_t>(summary.promptTokens));
  table.line("output tokens", static_cast<size_t>(summary.outputTokens));
  if (summary.countedInPieces > 0)
    table.line("  requests without usage", summary.countedInPieces);
  table.line("output tokens per second", summary.outputTokensPerSecond, "%.2f");
  table.line("all tokens per second", summary.totalTokensPerSecond, "%.2f");
  table.line("requests per second", summary.requestsPerSecond, "%.3f");
  if (options.goodput.any()) {
    table.row("goodput limits, ms", options.goodput.text.c_str());
    table.line("  requests within", summary.good);
    table.line("  per second",
               summary.durationSeconds > 0
                   ? double(summary.good) / summary.durationSeconds
                   : 0,
               "%.3f");
  }
  table.line("peak in flight", summary.peakInFlight);
  table.line("late starts", summary.lateStarts);
  if (summary.heldBack > 0)
    table.line("held back", summary.heldBack);
  table.row("", "      mean        p50        p90        p99        max");
  table.line("time to first token, ms", summary.ttftMs);
  table.line("inter-token latency, ms", summary.itlMs);
  table.line("time per output token, ms", summary.tpotMs);
  table.line("end to end, ms", summary.e2eMs);
  return std::move(table.out);
}

std::string bench::requestLines(const RunRecord &run) {
  std::string lines;
  for (const RequestRecord &record : run.requests) {
    ordered_json json = {{"request", record.spec.index},
                         {"arrival_ms", toMs(record.spec.arrival)},
                         {"started_ms", toMs(record.started)},
                         {"start_delay_ms", toMs(record.startDelay)},
                         {"ended_ms", toMs(record.ended)},
                         {"prompt_tokens", record.promptTokens},
                         {"output_tokens", record.outputTokens}};
    if (record.firstToken > Time(0)) {
      json["ttft_ms"] = toMs(record.ttft());
      json["e2e_ms"] = toMs(record.e2e());
      json["tpot_ms"] = record.tpotNanos() / 1e6;
      ordered_json &gaps = json["itl_ms"] = ordered_json::array();
      for (Time gap : record.gaps)
        gaps.push_back(toMs(gap));
    }
    json["error_kind"] = record.errorKind;
    json["error"] = record.error;
    lines += dump(json, -1);
  }
  return lines;
}

std::string bench::progressLine(const RunProgress &progress) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "%.1f s: %zu of %zu requests ended, %zu in flight, %zu failed, "
                "%lld pieces of output",
                toMs(progress.elapsed) / 1e3, progress.ended, progress.total,
                progress.started - progress.ended, progress.failed,
                static_cast<long long>(progress.pieces));
  return text;
}
