//===- HeadLimits.cpp - limits of the head --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/HeadLimits.h"

#include "runtime/core/CachePages.h"

#include <algorithm>

namespace sluice {

Status HeadLimits::validate(const SpeculationOptions &options) const {
  constexpr int64_t max = std::numeric_limits<int32_t>::max() / 4;
  struct Bound {
    std::string_view name;
    int64_t value, min, max;
  };
  for (const Bound &bound :
       {Bound{"requests", requests, 1, max},
        Bound{"context length", contextLength, 1, max},
        Bound{"prefill rows", prefillRows, 1, max},
        Bound{"outputs", outputs, 1, max}, Bound{"stages", stages, 1, 4096},
        Bound{"pages", pages, 0, max},
        Bound{"frames in flight", framesInFlight, 4, max},
        Bound{"speculation depth", options.depth, 1, 1024},
        Bound{"speculation width", options.width, 1, 64},
        Bound{"speculation nodes", options.nodes, 1, 4096},
        Bound{"draft rows", options.draftRows, 1, 64}}) {
    if (bound.value < bound.min)
      return failure("head: ", bound.name, " is ", bound.value, ", below ",
                     bound.min);
    if (bound.value > bound.max)
      return failure("head: ", bound.name, " is ", bound.value, ", above ",
                     bound.max);
  }
  if (options.mode != SpeculationMode::Off && !hasDraft)
    return failure("head: speculation needs a draft");
  if (options.mode == SpeculationMode::Sync && options.splitRows &&
      options.nodes + requests > framesInFlight)
    return failure("head: single rows of ", options.nodes,
                   " guesses do not fit ", framesInFlight, " frames in flight");
  return {};
}

HeadLimits HeadLimits::settled() const {
  HeadLimits limits = *this;
  if (pages == 0)
    limits.pages = requests * CachePages::pagesFor(contextLength);
  // A request that is alone in the cache can use all its pages.
  limits.contextLength =
      std::min(contextLength, limits.pages * CachePages::pageTokens);
  return limits;
}

} // namespace sluice
