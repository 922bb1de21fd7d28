//===- PipelineLimits.cpp - limits of head, stages and draft --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PipelineLimits.h"

#include <algorithm>

namespace sluice {

HeadLimits PipelineLimits::head() const {
  HeadLimits limits;
  limits.requests = requests;
  limits.contextLength = contextLength;
  limits.vocabSize = vocabSize;
  limits.prefillRows = prefillRows;
  limits.outputs = stage().outputs;
  limits.stages = stages;
  limits.pages = pagesOfRequests();
  limits.sharesPrefixes = sharesPrefixes;
  limits.interTokenLatency = interTokenLatency;
  limits.framesInFlight = channelFrames - 2 * requests;
  limits.quiet = followUpAfter;
  return limits;
}

StageLimits PipelineLimits::stage() const {
  int64_t nodes = speculation.nodes;
  StageLimits limits;
  limits.rows = prefillRows + requests + nodes;
  limits.outputs = std::min(requests + nodes + scoredRows, limits.rows);
  // A chunk of a prompt may fill the prompt rows of a step, so chunks do not
  // share a step.
  limits.promptRows = prefillRows;
  limits.requests = requests;
  // Dead paths stay until a living row shows which of them it continues.
  limits.branches = 2 * (requests + nodes);
  limits.nodes = 4 * nodes + 4;
  // The head uses the same context.
  limits.contextLength =
      std::min(contextLength, pagesOfRequests() * CachePages::pageTokens);
  limits.frames = channelFrames;
  limits.fuse = fuse;
  limits.sharedPages = sharesPrefixes ? pagesOfRequests() : 0;
  return limits;
}

PipelineLimits PipelineLimits::draft() const {
  PipelineLimits limits = *this;
  limits.pages = 0;
  limits.sharesPrefixes = false;
  return limits;
}

int64_t PipelineLimits::pagesOfRequests() const {
  return pages > 0 ? pages : requests * CachePages::pagesFor(contextLength);
}

int64_t PipelineLimits::cachePages() const {
  if (speculation.mode == SpeculationMode::Off)
    return pagesOfRequests();
  // Each path has its own pages from its fork on: the page in which it forks
  // and the pages after that.
  int64_t ownPages = CachePages::pagesFor(speculation.depth) + 1;
  return pagesOfRequests() + stage().branches * ownPages;
}

} // namespace sluice
