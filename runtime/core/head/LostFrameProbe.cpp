//===- LostFrameProbe.cpp - empty frames that reveal lost ones ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/LostFrameProbe.h"

#include <algorithm>

namespace sluice {

void LostFrameProbe::check(bool expectsAnswers, Time now) {
  constexpr Time longest = std::chrono::hours(1);
  if (quiet <= Time(0) || !expectsAnswers)
    return;
  if (frames.sent() != framesBefore || quietFor == Time(0))
    noteNews(now);
  if (now >= newsAt + quietFor) {
    // If there is no room, many frames are under way, which can hardly all be
    // lost.
    if (frames.hasRoom())
      frames.launch();
    newsAt = now;
    quietFor = std::min(2 * quietFor, longest);
  }
  framesBefore = frames.sent();
  commands.wakeAt(newsAt + quietFor);
}

} // namespace sluice
