//===- ServingOptions.cpp - the limits of concurrent requests -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/ServingOptions.h"

#include "runtime/core/CachePages.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

Expected<int64_t> engine::pagesOf(const ServingOptions &options,
                                  const ExecutableDescriptor &executable,
                                  const CacheStorage &storage,
                                  int64_t contextLength) {
  int64_t largest = 1;
  for (int64_t stage = 0; stage < std::ssize(executable.plan.stages); ++stage)
    largest = std::max(largest,
                       cachePageBytes(executable.stageProgram(stage), storage));
  int64_t pages = options.cacheBytes / largest;
  if (pages < 1)
    return failure("--cache-bytes: ", options.cacheBytes,
                   " bytes are less than one page of ", CachePages::pageTokens,
                   " tokens takes, ", largest);
  return std::min(pages,
                  options.requests * CachePages::pagesFor(contextLength));
}
