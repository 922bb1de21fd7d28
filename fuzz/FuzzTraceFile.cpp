//===- FuzzTraceFile.cpp - fuzzes the reader of recorded loads -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/LengthDistribution.h"
#include "runtime/bench/TraceFile.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::bench;

/// Any bytes are refused in one line that names one of theirs, or are requests
/// in order, with lengths within range.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Expected<std::vector<TraceEntry>> read = parseTrace(text);
  if (!read) {
    if (read.status().message().find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  Time before{0};
  for (const TraceEntry &entry : *read) {
    if (entry.arrival < before || entry.promptTokens < 1 ||
        entry.promptTokens > maxLength || entry.outputTokens < 1 ||
        entry.outputTokens > maxLength)
      std::abort();
    before = entry.arrival;
  }
  return 0;
}
