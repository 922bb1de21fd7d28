//===- JobState.cpp - how far a rank's job is -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/rank/JobState.h"

using namespace sluice;
using namespace sluice::pipeline;

bool JobState::fail(const Status &reason) {
  std::lock_guard lock(mutex);
  if (!failed.ok() || over)
    return false;
  failed = reason;
  changed.notify_all();
  return true;
}

void JobState::endStage() {
  std::lock_guard lock(mutex);
  stageEnded = true;
  changed.notify_all();
}

void JobState::add(RankReport report) {
  std::lock_guard lock(mutex);
  reports.push_back(std::move(report));
  changed.notify_all();
}

bool JobState::waitForStage(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, time,
                          [this] { return stageEnded || !failed.ok(); });
}

Status JobState::settle() {
  std::lock_guard lock(mutex);
  over = failed.ok();
  return failed;
}

Expected<std::vector<RankReport>> JobState::waitForReports(size_t others,
                                                           bool hasStage) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    return !failed.ok() ||
           (reports.size() == others && (!hasStage || stageEnded));
  });
  if (!failed.ok())
    return failed;
  over = true;
  return std::move(reports);
}
