//===- HeadLimits.h - limits of the head ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEADLIMITS_H
#define SLUICE_RUNTIME_CORE_HEADLIMITS_H

#include "runtime/base/Status.h"
#include "runtime/core/Speculation.h"

#include <limits>

namespace sluice {

/// The vocabulary size for callers to whom token ids do not matter.
inline constexpr int64_t anyVocabSize = std::numeric_limits<int32_t>::max();

/// What a head has room for. It is valid if validate() says so.
struct HeadLimits {
  int64_t requests = 1;
  int64_t contextLength = 0;
  int64_t vocabSize = anyVocabSize; ///< token ids are below it
  /// Rows of a step with prompt rows, as far as other rows leave room.
  int64_t prefillRows = defaultStepRows;
  /// Rows of a step that want an output.
  int64_t outputs = 64;
  int64_t stages = 1;
  /// Pages of each stage's cache, without those for guesses; 0 for as many as
  /// the requests can need.
  int64_t pages = 0;
  bool sharesPrefixes = false;
  /// The desired upper bound for the time between two tokens of a request; it
  /// holds as far as the chunks of prompts in the same steps can be made small
  /// enough. 0 for no bound.
  Time interTokenLatency{0};
  /// Frames under way through the stages. Prompts and guesses wait for room;
  /// certain rows and closes, at most one of each for a request, do not. At
  /// least 4; with SpeculationOptions::splitRows, enough for a whole batch of
  /// each request.
  int64_t framesInFlight = 256;
  /// How long the head waits without launching a frame or getting an answer
  /// that it expects, before it sends a frame without rows. The receiver of
  /// that frame notices if a frame before it was lost (FrameCount.h). As a step
  /// may just be long, each further wait is twice as long as the last. 0 for no
  /// such frames.
  Time quiet{0};
  bool hasDraft = false;
  /// Positions that the draft has room for; 0 for as many as the target.
  /// Nothing is guessed after them.
  int64_t draftContextLength = 0;

  /// Fails if limits or options are out of range, on speculation without a
  /// draft, and if single rows of a batch (splitRows) do not fit the frames in
  /// flight.
  Status validate(const SpeculationOptions &options) const;
  /// Returns the limits in force: `pages` is set, and the context fits the
  /// pages.
  HeadLimits settled() const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEADLIMITS_H
