//===- BenchReport.h - a run's results, for people and programs -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BENCHREPORT_H
#define SLUICE_RUNTIME_BENCH_BENCHREPORT_H

#include "runtime/bench/BenchOptions.h"

namespace sluice::bench {

/// One JSON object, indented, with a newline at its end. Times in `*_ms` and
/// `*_seconds`; ttft_ms, itl_ms, tpot_ms, e2e_ms and start_delay_ms are objects
/// of mean, p50, p90, p99 and max, or null where nothing was measured; with
/// limits also goodput_*; `workload` has what the run was asked for, without
/// the key. See Summary.h for what is what.
std::string reportJson(const Summary &summary, const BenchOptions &options);

/// The same as a table.
std::string reportTable(const Summary &summary, const BenchOptions &options);

/// One line of JSON for each request, in the order of their arrival.
std::string requestLines(const RunRecord &run);

/// A line for people that shows how far a run is, without a newline.
std::string progressLine(const RunProgress &progress);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BENCHREPORT_H
