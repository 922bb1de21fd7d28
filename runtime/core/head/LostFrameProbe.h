//===- LostFrameProbe.h - empty frames that reveal lost ones --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_LOSTFRAMEPROBE_H
#define SLUICE_RUNTIME_CORE_HEAD_LOSTFRAMEPROBE_H

#include "runtime/core/head/FramesUnderWay.h"

namespace sluice {

/// Launches a frame without rows if no frame has left and no answer has come
/// for long (HeadLimits::quiet). If everything waits for a frame that was lost,
/// the receiver notices the loss by this frame. Thread-compatible.
class LostFrameProbe {
public:
  LostFrameProbe(const HeadLimits &limits, FramesUnderWay &frames,
                 HeadCommands &commands)
      : quiet(limits.quiet), frames(frames), commands(commands) {}

  /// Must be called when an answer with results has come. The return of an
  /// empty frame is no news: if a round trip took longer than the quiet time,
  /// there would always be such a frame under way.
  void noteNews(Time now) {
    newsAt = now;
    quietFor = quiet;
  }
  /// Must be called at the end of each event. `expectsAnswers` says whether
  /// there is anything to wait for.
  void check(bool expectsAnswers, Time now);

private:
  Time quiet;
  FramesUnderWay &frames;
  HeadCommands &commands;
  Time newsAt{0};   ///< when frames left or answers came last
  Time quietFor{0}; ///< the time without news before an empty frame leaves
  uint64_t framesBefore = 0; ///< frames sent at the end of the last check()
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_LOSTFRAMEPROBE_H
