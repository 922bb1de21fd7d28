//===- TraceFile.h - recorded arrivals and lengths ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line for each request, in the order of their arrival, in one of two forms:
//
//   {"timestamp": 27, "input_length": 6758, "output_length": 500}
//   27,6758,500
//
// when it came, in milliseconds after the start, and its numbers of tokens. The
// first form is that of the Mooncake traces, which vLLM's and SGLang's
// benchmarks read as well; further members (hash_ids) are read over. The second
// may begin with the line timestamp,input_length,output_length. Empty lines are
// read over.
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

/// Reads a trace's text. Errors name the line and what is wrong with it:
/// neither of the forms, a number out of range, an arrival before the one
/// before; or no request, or more than a million.
Expected<std::vector<TraceEntry>> parseTrace(std::string_view text);

/// Errors: cannot read, and parseTrace's with the file's name before.
Expected<std::vector<TraceEntry>> readTraceFile(const std::string &path);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_TRACEFILE_H
