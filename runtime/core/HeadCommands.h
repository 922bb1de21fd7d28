//===- HeadCommands.h - what the head gives to its caller -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEADCOMMANDS_H
#define SLUICE_RUNTIME_CORE_HEADCOMMANDS_H

#include "runtime/core/RequestSpec.h"
#include "runtime/core/Speculation.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class FinishReason : uint8_t { Stop, Length, Cancelled, Timeout, Error };
std::string_view finishReasonName(FinishReason reason);

/// A token of a request on its way from the head to its user.
struct TokenEvent {
  RequestId request = 0; ///< the slot of the request
  int32_t token = 0;
  std::vector<TokenLogProbability> report = {}; ///< if asked for
  /// Whether this is a token of the prompt, emitted for its report. Such tokens
  /// come in order, before the request's first generated token.
  bool ofPrompt = false;
  RequestNumber number = 0; ///< of the request; set by Scheduler
  Time at{0};               ///< when the head knew; set by HeadLoop
};

struct FinishEvent {
  RequestId request = 0;
  FinishReason reason = FinishReason::Stop;
  std::string error; ///< only with FinishReason::Error
};

/// Counters of one request; each row counts once. Once the request has ended,
/// launched = accepted + cancelled.
struct SpeculationCounters {
  int64_t launched = 0;  ///< guesses sent to the first stage
  int64_t accepted = 0;  ///< of these, guesses that came true
  int64_t cancelled = 0; ///< of these, guesses that died
  /// Guesses that died and whose results came back all the same.
  int64_t computedDead = 0;
  int64_t epochs = 0;
  int64_t drafted = 0; ///< rows that the draft computed
  SpeculationCounters &operator+=(const SpeculationCounters &more);
};

/// A running request that was preempted to free pages for others. When `spec`
/// is submitted again, the request continues with the same tokens as without
/// the preemption.
struct PreemptEvent {
  RequestId request = 0;
  RequestSpec spec;
  SpeculationCounters counters; ///< since the last submission
};

/// A record for the trace: why speculation grew or stopped.
struct PolicyNote {
  RequestId request = 0;
  Verdict verdict = Verdict::Sent;
  double chance = 0;
  int64_t depth = 0, rowsInSlot = 0, nodesAlive = 0;
};

/// A list of frames that keep their memory when the list is cleared.
class FrameList {
public:
  /// Appends an empty frame.
  StepFrame &add();
  void dropLast() { --used; }
  void clear() { used = 0; }
  bool empty() const { return used == 0; }
  size_t size() const { return used; }
  StepFrame &operator[](size_t index) { return frames[index]; }
  auto begin() { return frames.begin(); }
  auto end() { return frames.begin() + static_cast<ptrdiff_t>(used); }

private:
  std::deque<StepFrame> frames; // a deque, so that frames do not move
  size_t used = 0;
};

/// What the caller must do after an event, in this order: cancels come first.
struct HeadCommands {
  std::vector<EpochMark> cancels; ///< to all ranks, out of band
  FrameList launches; ///< to the first stage, one message for each frame
  FrameList drafts;   ///< to the draft
  std::vector<TokenEvent> tokens; ///< to the user
  std::vector<FinishEvent> finished;
  std::vector<PreemptEvent> preempted;
  /// Notes for the trace; empty unless the head was created with wantsNotes.
  std::vector<PolicyNote> notes;
  /// The latest time for the next onWake(); each event sets it anew.
  std::optional<Time> wake;

  /// Sets the wake-up to `time` if that is earlier; does nothing without a
  /// time.
  void wakeAt(std::optional<Time> time) {
    if (time && (!wake || *time < *wake))
      wake = time;
  }
  void clear();
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEADCOMMANDS_H
