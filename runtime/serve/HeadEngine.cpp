//===- HeadEngine.cpp - a pipeline's head as the engine -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/HeadEngine.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

HeadEngine::HeadEngine(pipeline::HeadLoop &head)
    : head(head), health(Status::error("the model is not ready yet")) {
  lastStage.name = "last stage";
}

void HeadEngine::ready() {
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
  head.submit(std::move(request), std::move(sink));
}

void HeadEngine::finish(const pipeline::TokenSink &sink, FinishReason reason) {
  head.finish(sink, reason);
}

EngineStatus HeadEngine::status() const {
  EngineStatus status;
  status.head = head.status();
  const auto &samples = status.head.samples;
  std::lock_guard lock(mutex);
  // Two callers may have asked the head in another order than they come here.
  int64_t unseen = std::clamp<int64_t>(status.head.steps - lastStage.steps, 0,
                                       std::ssize(samples));
  for (int64_t step = status.head.steps - unseen; step < status.head.steps;
       ++step) {
    const auto &sample = samples[static_cast<size_t>(step) % samples.size()];
    lastStage.rows += sample.rows;
    lastStage.left += sample.left;
    lastStage.busyNanos += sample.busyNanos;
  }
  lastStage.steps = std::max(lastStage.steps, status.head.steps);
  status.lanes = {lastStage};
  return status;
}

Status HeadEngine::healthy() const {
  std::lock_guard lock(mutex);
  return health;
}
