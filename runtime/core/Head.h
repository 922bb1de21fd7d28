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

#include "runtime/core/Admission.h"
#include "runtime/core/HeadCommands.h"
#include "runtime/core/HeadLimits.h"
#include "runtime/core/PageLedger.h"

#include <memory>

namespace sluice {

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
