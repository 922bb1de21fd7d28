//===- PipelineLimits.h - limits of head, stages and draft ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits of a pipeline's parts, which have to fit together, from the few
// numbers that they follow from. What serves and what simulates has them from
// here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PIPELINELIMITS_H
#define SLUICE_RUNTIME_CORE_PIPELINELIMITS_H

#include "runtime/core/Head.h"
#include "runtime/core/Stage.h"

namespace sluice {

/// As the compiler makes channels.
constexpr int64_t defaultChannelFrames = 256;

/// HeadLimits::quiet where ranks are real: long beside a step, and short beside
/// what a user waits.
constexpr Time followUpAfter = std::chrono::seconds(2);

struct PipelineLimits {
  SpeculationOptions speculation;
  int64_t requests = 1;
  int64_t contextLength = 0;
  int64_t vocabSize = anyVocabSize; ///< as HeadLimits
  int64_t prefillRows = 512;        ///< prompt rows of a step
  int64_t stages = 1;
  /// Pages of each stage's cache, without those for guesses; 0: as many as the
  /// requests can need.
  int64_t pages = 0;
  bool sharesPrefixes = false;
  Time interTokenLatency{0}; ///< as HeadLimits
  /// Frames on their way from one rank to another before the sender waits.
  int64_t channelFrames = defaultChannelFrames;
  bool fuse = true;

  /// framesInFlight and the frames that do not wait for room, a certain row and
  /// a close for each request, fit into one channel: so the head never waits to
  /// send, wherever its frames are. (It does where users submit and take back
  /// faster than the first stage looks.) Draft and context of the draft are the
  /// caller's matter.
  HeadLimits head() const;
  /// Of each stage, and by draft() of the draft.
  StageLimits stage() const;
  /// The same for the draft's stage, which knows as many guesses, but has whole
  /// requests in its cache, and shares nothing.
  PipelineLimits draft() const;
  /// Pages of a stage's cache for what is certain.
  int64_t pagesOfRequests() const;
  /// Those and the pages that suffice for guesses.
  int64_t cachePages() const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PIPELINELIMITS_H
