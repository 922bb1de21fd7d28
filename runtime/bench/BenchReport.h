//===- BenchReport.h - the report of a run --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BENCHREPORT_H
#define SLUICE_RUNTIME_BENCH_BENCHREPORT_H

#include "runtime/bench/BenchOptions.h"

namespace sluice::bench {

/// Returns one indented JSON object with a newline at its end. Times are in
/// `*_ms` and `*_seconds`. ttft_ms, itl_ms, tpot_ms, e2e_ms and start_delay_ms
/// are objects of mean, p50, p90, p99 and max, or null if nothing was measured.
/// With limits, there are also goodput_* members. `workload` has the options of
/// the run, without the key. Summary.h explains the numbers.
std::string reportJson(const Summary &summary, const BenchOptions &options);

/// Returns the report as a table.
std::string reportTable(const Summary &summary, const BenchOptions &options);

/// Returns a line of JSON for each request, in the order of arrival.
std::string requestLines(const RunRecord &run);

/// Returns a line about the progress of a run, without a newline.
std::string progressLine(const RunProgress &progress);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BENCHREPORT_H
