//===- PipelineLimits.h - limits of head, stages and draft ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the limits of a pipeline's parts, which must fit together, from a few
// numbers. The server and the simulator both use it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PIPELINELIMITS_H
#define SLUICE_RUNTIME_CORE_PIPELINELIMITS_H

#include "runtime/core/Head.h"
#include "runtime/core/Stage.h"

namespace sluice {

/// The compiler makes channels of the same size.
constexpr int64_t defaultChannelFrames = 256;

/// HeadLimits::quiet for real ranks: long compared with a step, and short
/// compared with a user's patience.
constexpr Time followUpAfter = std::chrono::seconds(2);

struct PipelineLimits {
  SpeculationOptions speculation;
  int64_t requests = 1;
  int64_t contextLength = 0;
  int64_t vocabSize = anyVocabSize;      ///< as in HeadLimits
  int64_t prefillRows = defaultStepRows; ///< prompt rows of a step
  /// Rows of a step, beside one for each request, that may want an output: for
  /// prompts that are scored.
  int64_t scoredRows = 0;
  int64_t stages = 1;
  /// Pages of each stage's cache, without those for guesses; 0 for as many as
  /// the requests can need.
  int64_t pages = 0;
  bool sharesPrefixes = false;
  Time interTokenLatency{0}; ///< as in HeadLimits
  /// How many frames can be under way between two ranks before the sender
  /// waits.
  int64_t channelFrames = defaultChannelFrames;
  bool fuse = true;

  /// Returns the head's limits. framesInFlight leaves room in a channel for two
  /// more frames of each request, a certain row and a close, which do not wait
  /// for room. So the head never blocks on a send, wherever its frames are,
  /// unless users submit and cancel faster than the first stage takes frames.
  /// The caller must set the fields about the draft.
  HeadLimits head() const;
  /// Returns the limits of each stage. For the draft's stage, call it on the
  /// result of draft().
  StageLimits stage() const;
  /// Returns the same limits for the draft's stage, except that its cache has
  /// pages for whole requests and shares no prefixes.
  PipelineLimits draft() const;
  /// Returns how many pages of a stage's cache are for certain rows.
  int64_t pagesOfRequests() const;
  /// Returns that number plus the pages that suffice for guesses.
  int64_t cachePages() const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PIPELINELIMITS_H
