//===- DraftWorker.cpp - makes the worker of a draft ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/DraftWorker.h"

using namespace sluice;
using namespace sluice::pipeline;

Expected<std::unique_ptr<StageWorker>>
pipeline::makeDraftWorker(DraftParts parts, EpochBoard &board, HeadLoop &head,
                          RoleTrace trace, std::function<void(Status)> failed) {
  const PipelineLimits limits = parts.limits.draft();
  StageWorkerConfig config;
  config.name = "draft";
  config.rank = parts.rank;
  config.limits = limits.stage();
  config.limits.vocabSize = parts.vocabSize;
  config.pages = limits.cachePages();
  config.hasCheckpoints = parts.hasCheckpoints;
  auto output = std::make_unique<GuessOutput>(
      std::move(parts.guesser), config.limits.rows, [&head](GuessFrame frame) {
        head.onGuesses(std::move(frame));
        return Status();
      });
  return StageWorker::create(std::move(config), board, std::move(parts.compute),
                             std::move(output), std::move(parts.pacer), trace,
                             {.failed = std::move(failed),
                              .roomChanged = nullptr,
                              .ended = nullptr,
                              .released = nullptr});
}
