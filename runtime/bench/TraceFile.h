//===- TraceFile.h - traces of arrivals and lengths -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a trace, which has a line for each request, in the order of arrival, in
// one of two forms:
//
//   {"timestamp": 27, "input_length": 6758, "output_length": 500}
//   27,6758,500
//
// These are the time of arrival, in milliseconds after the start, and the
// numbers of tokens. The first form is that of the Mooncake traces, which
// vLLM's and SGLang's benchmarks also read; further members (hash_ids) are
// ignored. A file of the second form may begin with the line
// timestamp,input_length,output_length. Empty lines are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_TRACEFILE_H
#define SLUICE_RUNTIME_BENCH_TRACEFILE_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

struct TraceEntry {
  Time arrival{0};
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
};

/// Parses the text of a trace. Fails, naming the line, if it has neither form,
/// a number is out of range, or an arrival is before the previous one; also if
/// there are no requests or more than a million.
Expected<std::vector<TraceEntry>> parseTrace(std::string_view text);

/// Fails if the file cannot be read, or as parseTrace() does, with the file's
/// name.
Expected<std::vector<TraceEntry>> readTraceFile(const std::string &path);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_TRACEFILE_H
