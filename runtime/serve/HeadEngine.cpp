//===- HeadEngine.cpp - the serving engine on top of a pipeline's head ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/HeadEngine.h"

#include <cassert>

using namespace sluice;
using namespace sluice::serve;

using pipeline::HeadLoop;

HeadEngine::HeadEngine(Status why) : health(std::move(why)) {}

void HeadEngine::ready(HeadLoop &loop,
                       std::function<WeightCounters()> counters) {
  weights = std::move(counters);
  head = &loop;
  std::lock_guard lock(mutex);
  if (!hasFailed)
    health = {};
}

void HeadEngine::fail(Status why) {
  std::lock_guard lock(mutex);
  if (!hasFailed)
    health = std::move(why);
  hasFailed = true;
}

void HeadEngine::submit(ScheduledRequest request,
                        std::shared_ptr<pipeline::TokenSink> sink) {
  HeadLoop *loop = head;
  assert(loop && "healthy() fails until there is a head");
  loop->submit(std::move(request), std::move(sink));
}

void HeadEngine::finish(const pipeline::TokenSink &sink, FinishReason reason) {
  if (HeadLoop *loop = head)
    loop->finish(sink, reason);
}

static RankCounters toCounters(std::string name,
                               const pipeline::StageTotals &totals) {
  return {std::move(name), totals.steps, totals.rows, totals.departed,
          totals.busyNanos};
}

EngineStatus HeadEngine::status() const {
  EngineStatus status;
  HeadLoop *loop = head;
  if (!loop)
    return status;
  status.head = loop->status();
  status.weights = weights();
  for (const pipeline::StageTotals &stage : status.head.stages)
    status.ranks.push_back(
        toCounters("stage " + std::to_string(status.ranks.size()), stage));
  if (status.head.draft)
    status.ranks.push_back(toCounters("draft", *status.head.draft));
  return status;
}

Status HeadEngine::healthy() const {
  if (HeadLoop *loop = head)
    SLUICE_RETURN_IF_ERROR(loop->broken());
  std::lock_guard lock(mutex);
  return health;
}
