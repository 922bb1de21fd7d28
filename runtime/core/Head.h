//===- Head.h - owns requests: launches, guesses, verifies ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head owns requests: it launches certain rows, has the draft guess on
// while results are outstanding, launches guesses behind them, verifies,
// advances epochs, and ends each request exactly once. A pure state machine:
// events in, commands out, time passed in.
//
//   head.submit(spec, now) / head.onResults(frame, now) / head.onGuesses(...) /
//   head.onWake(now) / head.finish(...)
//   HeadCommands &commands = head.commands();    // after each event
//   ... send them; commands.clear() ...
//
// Async mode (PipeInfer, arXiv 2407.11798, section III). As soon as a token is
// known its row leaves, without waiting for guesses. Meanwhile the draft
// expands the likeliest rows of the tree of guesses; each guess that the policy
// lets through leaves at once. The result of row x names the token behind it:
// where a guess below x has it, that guess is confirmed, its siblings die, and
// the pipe is not drained; otherwise a certain row is made, all guesses die,
// and it leaves at once. What dies in flight advances the epoch, and a cancel
// goes to all ranks out of band.
//
// Sync mode. Once a token is known the draft makes a tree behind it, level by
// level; then the row and all guesses leave together, and nothing more until
// all their results are back. No cancels: what turned out wrong is computed.
//
// The draft is a stage of its own with candidates as its output, so it sees
// frames and marks too; but it need not have every confirmed row. Rows of the
// confirmed path that it has not answered for are sent to it (again, if in
// doubt) as certain rows before it is asked to go on. One frame is with the
// draft at a time, those that only close requests included: it answers each.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_H
#define SLUICE_RUNTIME_CORE_HEAD_H

#include "runtime/base/Status.h"
#include "runtime/core/PageLedger.h"
#include "runtime/core/Rows.h"
#include "runtime/core/Speculation.h"

#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The order in which requests are served where not all can be: the earlier one
/// goes first; of those of one time, the one of the lower number.
struct QueuePriority {
  Time at{0};
  int64_t number = 0;
  auto operator<=>(const QueuePriority &) const = default;
};

struct RequestSpec {
  std::vector<int32_t> prompt; ///< at least one token
  /// Tokens that the request has had already: it goes on behind them.
  std::vector<int32_t> generated = {};
  SamplingParams sampling;
  GrammarSource grammar = {};
  int64_t maxTokens = -1; ///< -1: until the context is full; with `generated`
  std::vector<int32_t> stopTokens; ///< end the text; not part of it
  int32_t logProbabilities = -1;   ///< as OpenRequest
  /// Whether to report on the prompt's tokens as well, all but the first; with
  /// logProbabilities of at least 0.
  bool scoresPrompt = false;
  /// Length of the prefix of the prompt that has been reported on; 0: nothing
  /// yet.
  int64_t scored = 0;
  QueuePriority queuePriority = {};
  /// Prefixes of prompts are shared among requests of the same number.
  uint64_t prefixScope = 0;

  /// Tokens of the prompt on which is to be reported yet.
  int64_t unscored() const {
    return scoresPrompt ? std::ssize(prompt) - std::max<int64_t>(1, scored) : 0;
  }
};

/// Where nobody looks at the ids of tokens.
inline constexpr int64_t anyVocabSize = std::numeric_limits<int32_t>::max();

struct HeadLimits {
  int64_t requests = 1;
  int64_t contextLength = 0;
  int64_t vocabSize = anyVocabSize; ///< ids of tokens are less
  /// Rows of a step that has rows of prompts, as far as others leave room.
  int64_t prefillRows = 512;
  /// Rows of a step that want an output.
  int64_t outputs = 64;
  int64_t stages = 1;
  /// Pages of each stage's cache, without those for guesses; 0: as many as the
  /// requests can need.
  int64_t pages = 0;
  bool sharesPrefixes = false;
  /// Between two tokens of a request, at most, as far as prompts beside it can
  /// be kept short enough; 0: no bound.
  Time interTokenLatency{0};
  /// Frames on their way through the stages. Prompts and guesses wait for room;
  /// certain rows and closes, at most one of each for a request, do not. At
  /// least 4; with SpeculationOptions::splitRows enough for a whole batch of
  /// each request.
  int64_t framesInFlight = 256;
  /// A frame without rows follows where none has left and no answer has come
  /// for so long though one is to: who gets it misses a frame before it that
  /// was lost (FrameCount.h). Each further one after twice the time, as a step
  /// may just be long. 0: none.
  Time quiet{0};
  bool hasDraft = false;
  /// Positions that the draft can take; 0: as many as the target. Behind them
  /// nothing is guessed.
  int64_t draftContextLength = 0;
};

enum class FinishReason : uint8_t { Stop, Length, Cancelled, Timeout, Error };
std::string_view finishReasonName(FinishReason reason);

struct TokenEvent {
  RequestId request = 0;
  int32_t token = 0;
  std::vector<TokenLogProbability> report;
  /// One of the prompt's, told of for the sake of its report: in order, before
  /// the request's first token.
  bool ofPrompt = false;
};

struct FinishEvent {
  RequestId request = 0;
  FinishReason reason = FinishReason::Stop;
  std::string error; ///< of FinishReason::Error
};

/// Of one request, each row counted once. launched = accepted + cancelled once
/// the request has ended.
struct SpeculationCounters {
  int64_t launched = 0;     ///< guesses sent to the first stage
  int64_t accepted = 0;     ///< of them, those that came true
  int64_t cancelled = 0;    ///< of them, those that died
  int64_t computedDead = 0; ///< of those, results that came back all the same
  int64_t epochs = 0;
  int64_t drafted = 0; ///< rows that the draft computed
  SpeculationCounters &operator+=(const SpeculationCounters &more);
};

/// A request that had to make room for others; submitted again, with what it
/// has generated, it goes on as if nothing had happened.
struct PreemptEvent {
  RequestId request = 0;
  RequestSpec spec;
  SpeculationCounters counters; ///< since it was submitted last
};

/// A prefix in whole pages that a request shares with one that runs, and
/// that this one is computing just now: who waits for it need not.
struct ComingPrefix {
  RequestId from = 0;   ///< who computes it
  NodeId firstNode = 0; ///< of that: others have the slot later
  int64_t pages = 0;
  int64_t rest = 0; ///< pages of what is known behind it
};

/// What is not for a request, though it is free: for those that come before it.
struct HeadClaims {
  int64_t slots = 0, pages = 0;
};

/// A line for the trace: why speculation grew or stopped.
struct PolicyNote {
  RequestId request = 0;
  Verdict verdict = Verdict::Sent;
  double chance = 0;
  int64_t depth = 0, rowsInSlot = 0, nodesAlive = 0;
};

/// Frames that keep their room when they are cleared.
class FrameList {
public:
  /// An empty frame at the end.
  StepFrame &add();
  void dropLast() { --used; }
  void clear() { used = 0; }
  bool empty() const { return used == 0; }
  size_t size() const { return used; }
  StepFrame &operator[](size_t index) { return frames[index]; }
  auto begin() { return frames.begin(); }
  auto end() { return frames.begin() + static_cast<ptrdiff_t>(used); }

private:
  std::deque<StepFrame> frames; // so that they stay where they are
  size_t used = 0;
};

/// What is to be done after an event, in this order: cancels first.
struct HeadCommands {
  std::vector<EpochMark> cancels; ///< to all ranks, out of band
  FrameList launches;             ///< to the first stage, one message each
  FrameList drafts;               ///< to the draft
  std::vector<TokenEvent> tokens; ///< to the user
  std::vector<FinishEvent> finished;
  std::vector<PreemptEvent> preempted;
  std::vector<PolicyNote> notes; ///< only where notes are wanted
  /// When onWake() is due at the latest; set anew by each event.
  std::optional<Time> wake;

  void clear();
};

/// Thread-compatible.
class Head {
public:
  /// Errors: limits or options out of range, speculation without a draft,
  /// single rows of a batch that do not fit the frames in flight.
  static Expected<Head> create(const HeadLimits &limits,
                               const SpeculationOptions &options,
                               PipelineTimes times, bool wantsNotes = false);
  Head(Head &&);
  Head &operator=(Head &&);
  ~Head();

  /// Whether the request can ever be admitted. Error: an empty prompt, or one
  /// that does not fit the context or the cache.
  Status check(const RequestSpec &spec) const;

  /// The longest prefix of the request that one which runs is computing,
  /// where that is more than what is pinned already. Only of one whose queue
  /// priority is not later: it computes it no later than the request would
  /// itself.
  std::optional<ComingPrefix> comingPrefix(const RequestSpec &spec);
  /// Whether it is still being computed, and is then waited for: its rows leave
  /// as soon as those of a prompt that ends with them would; of several that
  /// are waited for, the shortest first. O(1).
  bool await(const ComingPrefix &prefix);
  /// The same prefix, or what there is of it, of the request that has this
  /// slot now: it was submitted because who computed `gone` has left.
  ComingPrefix inherit(RequestId heir, const ComingPrefix &gone) const;

  /// Admits a request: its rows leave in chunks. With maxTokens 0 it ends once
  /// its prompt has been reported on, at once where it need not be. Nothing,
  /// and `spec` is as it was, where beside what others have a claim to there is
  /// no free slot, or no room in the cache. Errors: those of check().
  Expected<std::optional<RequestId>> submit(RequestSpec &spec, Time now,
                                            const HeadClaims &claims = {});
  /// Advances when a request that was not admitted may be: one has ended or
  /// was preempted, or pages of a prompt have been pinned.
  uint64_t chances() const;

  /// Changes the queue priority of a request.
  void setQueuePriority(RequestId request, const QueuePriority &queuePriority);

  /// Whether submit() would admit the request if all whose queue priority is
  /// later than `queuePriority` were preempted.
  bool fitsWithout(const QueuePriority &queuePriority, const RequestSpec &spec,
                   const HeadClaims &claims);
  /// Preempts the request whose queue priority is last, if that is later than
  /// `queuePriority`. Whether there was one.
  bool preemptLast(const QueuePriority &queuePriority, Time now);

  /// Ends a request at the user's wish: a stop string was found, or the client
  /// went away. Nothing where it has ended already.
  void finish(RequestId request, FinishReason reason, Time now);

  /// The answers of the last stage, tombstones included; in order.
  void onResults(const ResultFrame &frame, Time now);
  /// The draft's answer.
  void onGuesses(const GuessFrame &frame, Time now);
  /// The time that HeadCommands::wake named has come (or is past).
  void onWake(Time now);

  HeadCommands &commands();

  /// In force: with all pages counted, and a context that fits them.
  const HeadLimits &limits() const;
  /// Of the request that has the slot, or had it last.
  const SpeculationCounters &counters(RequestId request) const;
  /// Of all requests so far.
  const SpeculationCounters &totals() const;
  const SpeculationPolicy &policy() const;
  /// Of the pages that the stages have.
  const PageLedger &ledger() const;
  /// Requests that have not ended, rows of theirs in the trees of guesses, and
  /// pages that they use.
  struct Holdings {
    int64_t requests = 0, nodes = 0, pages = 0;
    bool operator==(const Holdings &) const = default;
  };
  Holdings holdings() const;

private:
  struct State;
  explicit Head(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_H
