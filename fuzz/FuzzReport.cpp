//===- FuzzReport.cpp - fuzzes the reader of ranks' reports ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankReport.h"
#include "runtime/trace/JoinMessages.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::pipeline;

/// Any bytes are refused, or read as what they say; and then nothing in the
/// trace surprises who writes it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Expected<RankReport> report = RankReport::parse(text);
  if (!report)
    return 0;
  if (report->serialize() != text)
    std::abort();
  std::vector<trace::TraceEvent> *const all[] = {&report->events};
  trace::joinMessages(all);
  for (const trace::TraceEvent &event : report->events)
    if (static_cast<int>(event.kind) >= trace::kindCount ||
        event.begin + event.duration < event.begin ||
        event.rank != report->rank)
      std::abort();
  return 0;
}
