//===- RequestTable.cpp - the requests that the head runs -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/RequestTable.h"

#include <algorithm>

namespace sluice {

/// Returns room for the root, the guesses in flight and the guesses that wait.
/// In Sync mode all candidates of a level wait before the best ones are chosen.
static int64_t getTreeCapacity(const SpeculationOptions &options) {
  if (options.mode == SpeculationMode::Off)
    return 1;
  return 1 + options.nodes +
         std::max(maxWaitingGuesses, options.width * options.width);
}

RequestTable::RequestTable(const HeadLimits &limits,
                           const SpeculationOptions &options)
    : stages(limits.stages) {
  slots.reserve(static_cast<size_t>(limits.requests));
  for (int64_t i = 0; i < limits.requests; ++i)
    slots.emplace_back(static_cast<RequestId>(i), getTreeCapacity(options));
}

HeadRequest *RequestTable::findFree() {
  auto free = std::ranges::find_if(
      slots, [](const HeadRequest &each) { return !each.active; });
  return free != slots.end() ? &*free : nullptr;
}

HeadRequest *RequestTable::lastInQueueOrder() {
  HeadRequest *last = nullptr;
  for (HeadRequest &each : slots)
    if (each.active &&
        (!last || each.spec.queuePriority > last->spec.queuePriority))
      last = &each;
  return last;
}

void RequestTable::notePromptSent(const HeadRequest &request) {
  ++generatingRequests;
  generatingPositions += request.knownRows;
}

void RequestTable::noteReleased(const HeadRequest &request) {
  if (request.promptSent()) {
    --generatingRequests;
    generatingPositions -= std::ssize(request.path);
  }
  --activeRequests;
}

} // namespace sluice
