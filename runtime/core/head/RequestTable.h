//===- RequestTable.h - the requests that the head runs -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_REQUESTTABLE_H
#define SLUICE_RUNTIME_CORE_HEAD_REQUESTTABLE_H

#include "runtime/core/HeadLimits.h"
#include "runtime/core/head/HeadRequest.h"

#include <utility>

namespace sluice {

/// The head's slots, how many of them have a request, and what the requests
/// have done together. Thread-compatible. Nothing moves in memory after
/// construction.
class RequestTable {
public:
  RequestTable(const HeadLimits &limits, const SpeculationOptions &options);

  auto begin() { return slots.begin(); }
  auto end() { return slots.end(); }
  auto begin() const { return slots.begin(); }
  auto end() const { return slots.end(); }
  HeadRequest &operator[](RequestId id) {
    return slots[static_cast<size_t>(id)];
  }
  const HeadRequest &operator[](RequestId id) const {
    return slots[static_cast<size_t>(id)];
  }
  /// Returns the slot of that number, with or without a request; null if there
  /// is none.
  const HeadRequest *find(RequestId id) const {
    auto index = static_cast<size_t>(id);
    return id >= 0 && index < slots.size() ? &slots[index] : nullptr;
  }
  HeadRequest *find(RequestId id) {
    return const_cast<HeadRequest *>(std::as_const(*this).find(id));
  }
  /// Returns a slot without a request; null if there is none.
  HeadRequest *findFree();
  /// Returns the running request with the last queue priority; null if none
  /// runs.
  HeadRequest *lastInQueueOrder();

  /// How many slots have a request.
  int64_t active() const { return activeRequests; }
  /// How many of these requests have sent all rows of their prompts.
  int64_t generating() const { return generatingRequests; }
  /// Returns how many rows of generating requests a step has, if the requests
  /// are divided into as many groups as there are stages.
  int64_t rowsPerStep() const {
    return (generatingRequests + stages - 1) / stages;
  }
  /// Returns the sum of the positions of these rows.
  int64_t positionsPerStep() const { return generatingPositions / stages; }

  /// The owner must call these four methods so that the counts stay correct:
  /// noteBegun() when a slot gets a request; notePromptSent() when all known
  /// rows of the request have been sent; noteConfirmed() for each token that is
  /// added to its path after that; noteReleased() before its slot becomes free.
  void noteBegun() { ++activeRequests; }
  void notePromptSent(const HeadRequest &request);
  void noteConfirmed() { ++generatingPositions; }
  void noteReleased(const HeadRequest &request);

  /// Adds to a counter of the request and to that of all requests.
  void count(HeadRequest &request, int64_t SpeculationCounters::*what,
             int64_t by = 1) {
    request.counters.*what += by;
    all.*what += by;
  }
  /// Counts the result of a guess of a request whose slot has another request
  /// now.
  void countComputedDead() { ++all.computedDead; }
  /// The counters of all requests so far.
  const SpeculationCounters &totals() const { return all; }

private:
  std::vector<HeadRequest> slots;
  int64_t stages;
  SpeculationCounters all;
  int64_t activeRequests = 0;
  int64_t generatingRequests = 0;
  int64_t generatingPositions = 0; ///< the sum over all generating requests
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_REQUESTTABLE_H
