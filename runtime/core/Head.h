//===- Head.h - launches, verifies and ends requests ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head owns the requests: it launches certain rows, has the draft guess
// ahead while results are outstanding, launches guesses behind the certain
// rows, verifies, advances epochs, and ends each request exactly once. It is a
// pure state machine: events and the time go in, commands come out.
//
//   head.submit(spec, now) / head.onResults(frame, now) / head.onGuesses(...) /
//   head.onWake(now) / head.finish(...)
//   HeadCommands &commands = head.commands();    // after each event
//   ... send them; commands.clear() ...
//
// Async mode (PipeInfer, arXiv 2407.11798, section III). As soon as a token is
// known, its row leaves without waiting for guesses. Meanwhile the draft
// expands the likeliest rows of the tree of guesses, and each guess that the
// policy lets through leaves at once. The result of row x is the token after x.
// If a child of x guessed that token, the guess is confirmed, its siblings die,
// and the rows in flight below it stay useful. Otherwise all guesses die, and a
// new certain row leaves at once. If rows die in flight, the epoch advances and
// a cancel goes to all ranks out of band.
//
// Sync mode. Once a token is known, the draft builds a tree below it, level by
// level. Then the row and all guesses leave together, and nothing more leaves
// until all their results are back. There are no cancels: wrong guesses are
// computed to the end.
//
// The draft is a stage of its own whose outputs are candidates, so it receives
// frames and marks too, but it need not have every confirmed row. Before the
// draft is asked to go on, it is sent the rows of the confirmed path that it
// has not answered for as certain rows; in doubt a row is sent again. The draft
// has at most one frame at a time and answers each frame, also one that only
// closes requests.
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

/// The order in which requests are served when not all can be: earlier `at`
/// first; at the same time, lower number first.
struct QueuePriority {
  Time at{0};
  int64_t number = 0;
  auto operator<=>(const QueuePriority &) const = default;
};

struct RequestSpec {
  std::vector<int32_t> prompt; ///< at least one token
  /// Tokens that the request has generated before; it continues after them.
  std::vector<int32_t> generated = {};
  SamplingParams sampling;
  GrammarSource grammar = {};
  /// The largest number of generated tokens, with those in `generated`; -1 for
  /// as many as fit the context.
  int64_t maxTokens = -1;
  std::vector<int32_t> stopTokens; ///< end the text; not part of it
  int32_t logProbabilities = -1;   ///< as in OpenRequest
  /// Whether to report on all tokens of the prompt but the first as well; needs
  /// logProbabilities of at least 0.
  bool scoresPrompt = false;
  /// Length of the prefix of the prompt that has been reported on already; 0
  /// for none.
  int64_t scored = 0;
  QueuePriority queuePriority = {};
  TenantNumber tenant = 0; ///< whom the request's work is charged to
  /// Only requests of the same scope share prefixes of prompts.
  uint64_t prefixScope = 0;

  /// Returns how many tokens of the prompt are still to be reported on.
  int64_t unscored() const {
    return scoresPrompt ? std::ssize(prompt) - std::max<int64_t>(1, scored) : 0;
  }
};

/// The vocabulary size for callers to whom token ids do not matter.
inline constexpr int64_t anyVocabSize = std::numeric_limits<int32_t>::max();

struct HeadLimits {
  int64_t requests = 1;
  int64_t contextLength = 0;
  int64_t vocabSize = anyVocabSize; ///< token ids are below it
  /// Rows of a step with prompt rows, as far as other rows leave room.
  int64_t prefillRows = 512;
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
};

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

/// A prefix in whole pages that a waiting request has in common with a running
/// request, and whose rows the running request is computing now. The waiting
/// request can wait for these pages instead of computing them.
struct ComingPrefix {
  RequestId from = 0; ///< the running request
  /// The running request's first node, which tells it from later requests of
  /// its slot.
  NodeId firstNode = 0;
  int64_t pages = 0;
  /// Pages of the waiting request's known tokens after the prefix.
  int64_t rest = 0;
};

/// Free slots and pages that are reserved for requests ahead of the one to
/// admit.
struct HeadClaims {
  int64_t slots = 0, pages = 0;
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

  void clear();
};

/// Thread-compatible.
class Head {
public:
  /// Fails if limits or options are out of range, on speculation without a
  /// draft, and if single rows of a batch (splitRows) do not fit the frames in
  /// flight.
  static Expected<Head> create(const HeadLimits &limits,
                               const SpeculationOptions &options,
                               PipelineTimes times, bool wantsNotes = false);
  Head(Head &&);
  Head &operator=(Head &&);
  ~Head();

  /// Fails if the request can never be admitted: its prompt is empty, its known
  /// tokens do not fit the context or do not fit the cache, or its parameters
  /// are out of range.
  Status check(const RequestSpec &spec) const;

  /// Returns the longest prefix of the request that a running request is
  /// computing, if that is longer than what is pinned already. Only a running
  /// request whose queue priority is not later counts: it computes the prefix
  /// no later than the new request would.
  std::optional<ComingPrefix> comingPrefix(const RequestSpec &spec);
  /// Returns whether the prefix is still being computed, and if so makes the
  /// running request compute it with the urgency of a prompt that ends with the
  /// prefix. If several prefixes are awaited, the shortest comes first. O(1).
  bool await(const ComingPrefix &prefix);
  /// Returns the prefix that remains to wait for after its computing request
  /// has left: what `heir` has in common with `gone`. `heir` is the slot of the
  /// request that was admitted in place of the one that left.
  ComingPrefix inherit(RequestId heir, const ComingPrefix &gone) const;

  /// Admits a request; its rows leave in chunks. With maxTokens 0, the request
  /// ends once its prompt has been reported on; at once if no report is wanted.
  /// Returns nothing, and leaves `spec` as it was, if beside `claims` there is
  /// no free slot or no room in the cache. Fails as check() does.
  Expected<std::optional<RequestId>> submit(RequestSpec &spec, Time now,
                                            const HeadClaims &claims = {});
  /// Counts the events after which a request that was not admitted may be
  /// admissible: a request has ended or was preempted or can no longer grow, or
  /// pages of a prompt have been pinned.
  uint64_t chances() const;

  /// Returns how many positions of the present or last request of the slot have
  /// left for the stages or were shared when it was admitted; a generated token
  /// counts once it is known.
  int64_t positionsSent(RequestId request) const;
  /// Changes the queue priority of a request.
  void setQueuePriority(RequestId request, const QueuePriority &queuePriority);

  /// Returns whether submit() would admit the request if all running requests
  /// with a queue priority later than `queuePriority` were preempted.
  bool fitsWithout(const QueuePriority &queuePriority, const RequestSpec &spec,
                   const HeadClaims &claims);
  /// Preempts the running request with the last queue priority, if that is
  /// later than `queuePriority`. Returns whether it preempted one.
  bool preemptLast(const QueuePriority &queuePriority, Time now);

  /// Ends a request on the user's behalf: a stop string was found, or the
  /// client went away. Does nothing if the request has ended already.
  void finish(RequestId request, FinishReason reason, Time now);

  /// Takes the answers of the last stage, tombstones included, in order.
  void onResults(const ResultFrame &frame, Time now);
  /// Takes the draft's answer.
  void onGuesses(const GuessFrame &frame, Time now);
  /// Must be called when the time in HeadCommands::wake has come.
  void onWake(Time now);

  HeadCommands &commands();

  /// Returns the limits in force: `pages` is set, and the context fits the
  /// pages.
  const HeadLimits &limits() const;
  /// Returns the counters of the present or last request of the slot.
  const SpeculationCounters &counters(RequestId request) const;
  /// Returns the sum over all requests so far.
  const SpeculationCounters &totals() const;
  const SpeculationPolicy &policy() const;
  /// Returns the account of the stages' pages.
  const PageLedger &ledger() const;
  /// Requests that have not ended, their rows in the trees of guesses, and the
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
