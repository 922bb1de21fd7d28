//===- Scheduler.h - the queue of requests before the head ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which requests run and which wait. The head runs a limited number of
// requests, and each takes pages of the cache; the other requests wait here in
// a bounded queue. A newcomer joins the next step as soon as there is a slot
// and room in the cache. A request that the head preempts because the cache is
// full waits again and continues later with the same tokens.
//
// Order. Requests are served in the order of their queue priorities, which are
// fair between tenants (FairQueueing.h): a tenant is charged for each row that
// is computed for its requests, but not for guesses, which fill steps that
// would run anyway, and not again for what a preempted request had computed. So
// running requests move back in the order, and those of others take their
// places. Within a tenant, the order is that of the times of arrival, with
// `priorityStep` added for each level of a request's priority (as in vLLM,
// lower numbers are more urgent). So an urgent request overtakes other requests
// of its tenant, but none that came much earlier, and a flood of urgent
// requests does not make the others wait for ever. No request may pass the
// first one that waits for a slot or for room, or a request that needs many
// pages would starve. If too many requests wait, the last one in this order
// that has not started is refused, whether that is the newcomer or one that
// waits. A running request is preempted for an earlier request only if that
// makes enough room and it is a quantum later or more, so that two do not take
// each other's place by turns. A request that was preempted for another tenant,
// and has to compute again what was in its pages, is not preempted for other
// tenants before it has computed as many new rows. A newcomer preempts no
// request once too many requests are queued or preempted, so that the number of
// requests that have started stays bounded.
//
// Equal prefixes. A request does not compute a prefix that a running request is
// computing just now. It waits until those pages are pinned and begins with
// them. Meanwhile other requests may be admitted if they leave a slot and room
// for the waiting one. The wait ends when those pages have been computed or the
// running request has left or fallen behind. Waiting takes no longer than
// computing the same rows, apart from one trip through the stages: the running
// request has no later queue priority, and it computes the prefix with the
// urgency of a prompt of that length. A request that waits for a prefix has a
// slot reserved for it: it does not count for the queue's limit, and where it
// would be evicted from the queue it starts instead.
//
// The scheduler is a pure state machine around the Head and takes the same
// events:
//
//   scheduler.submit(request, now) / scheduler.finish(number, reason, now) /
//   scheduler.onResults(frame, now) / onGuesses(frame, now) / onWake(now)
//   HeadCommands &commands = scheduler.commands();   // to the stages
//   UserEvents &events = scheduler.events();         // to the users
//   scheduler.clear();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SCHEDULER_H
#define SLUICE_RUNTIME_CORE_SCHEDULER_H

#include "runtime/core/FairQueueing.h"

#include <set>
#include <unordered_map>

namespace sluice {

struct SchedulerLimits {
  static constexpr int64_t maxWaiting = 1 << 24;
  /// With more, virtual times could overflow at the least weight.
  static constexpr int64_t maxFairQuantum = 1 << 16;

  /// The largest number of queued requests: those that wait for their first row
  /// and have no slot reserved. Requests whose reserved slot went to an earlier
  /// request can exceed it. Queued and preempted requests together are at most
  /// this number plus HeadLimits::requests.
  int64_t waiting = 1024;
  /// How long a request may wait for its first row; 0 for no limit.
  Time queueTimeout{0};
  /// How much each level of a request's priority adds to the time of its
  /// arrival. The requests of a tenant are in the order of these sums.
  Time priorityStep = std::chrono::seconds(5);
  /// The work after which tenants take turns, where there are more requests
  /// than can run; at least 1. A row of a prompt is one unit of work and a
  /// generated token is two (the weights of the virtual token counter's paper,
  /// section 3). A smaller quantum makes shares equal sooner, a larger one
  /// preempts less.
  int64_t fairQuantum = 512;
};

struct ScheduledRequest {
  RequestSpec spec;
  TenantTerms terms = {};
  /// Orders the requests of the tenant: lower is more urgent; in [-1000, 1000].
  int32_t priority = 0;
  /// The time at which the request ends as FinishReason::Timeout, unless it has
  /// ended.
  std::optional<Time> deadline = {};
};

/// Why a request was refused on submission or evicted from the queue.
enum class Refusal : uint8_t {
  None,
  Invalid,  ///< the request can never run
  QueueFull ///< the request may be accepted later
};

struct Submission {
  Refusal refusal = Refusal::None;
  RequestNumber number = 0; ///< of an accepted request
  std::string why;          ///< why a request was refused
};

/// The end of a request, which its user learns after its tokens.
struct RequestEnd {
  RequestNumber number = 0;
  RequestId slot = -1; ///< the last slot of the request, if any; for traces
  FinishReason reason = FinishReason::Stop;
  /// Set if the request was refused. Set with FinishReason::Cancelled if the
  /// queue was full and the request had to give way to one with an earlier
  /// queue priority.
  Refusal refusal = Refusal::None;
  bool isBroken = false; ///< whether it ended because the whole pipeline failed
  /// The cause of FinishReason::Error, of the refusal or of the failure.
  Status failure = {};
  bool started = true; ///< false if the request ended before its first row
  /// How many of the prompt's tokens had their pages shared when the request
  /// started.
  int64_t cachedTokens = 0;
  /// How long the request waited until it started, or ended without starting.
  Time waited{0};
  SpeculationCounters speculation = {};
  Time at{0}; ///< when the head knew; set by HeadLoop

  /// Returns whether the request ran to an end of its own, and not because it
  /// was refused or the pipeline failed.
  bool hasFinished() const { return refusal == Refusal::None && !isBroken; }
};

/// The events for users after an event: tokens before ends, each in order.
struct UserEvents {
  std::vector<TokenEvent> tokens;
  std::vector<RequestEnd> ends;
};

/// Thread-compatible. Steps allocate nothing; the arrival, preemption and end
/// of requests do.
class Scheduler {
public:
  /// Fails if limits are out of range.
  static Expected<Scheduler> create(Head head, const SchedulerLimits &limits);

  Submission submit(ScheduledRequest request, Time now);
  /// Ends a request that waits, runs or is preempted. Does nothing if it has
  /// ended.
  void finish(RequestNumber number, FinishReason reason, Time now);

  void onResults(const ResultFrame &frame, Time now);
  void onGuesses(const GuessFrame &frame, Time now);
  void onWake(Time now);

  /// Returns the commands for the stages and the draft. Their tokens, ends and
  /// preemptions are empty, because events() has them. `wake` includes the
  /// scheduler's own timers.
  HeadCommands &commands() { return head.commands(); }
  UserEvents &events() { return reported; }
  /// Must be called once commands and events have been carried out. Keeps
  /// `wake`.
  void clear();

  struct Load {
    int64_t running = 0;
    int64_t waiting = 0; ///< requests that wait for their first row
    int64_t preempted = 0;
    int64_t reserved = 0; ///< of `waiting`, requests with a reserved slot
    bool operator==(const Load &) const = default;
  };
  Load load() const;
  /// Returns how many preemptions there have been so far.
  int64_t preemptions() const { return preemptionsSoFar; }
  /// Returns how many waits for a prefix there have been so far.
  int64_t prefixWaits() const { return prefixWaitsSoFar; }
  const Head &rows() const { return head; }
  /// Returns the request that runs in the slot, if one does.
  std::optional<RequestNumber> requestIn(RequestId slot) const;

private:
  /// What a waiting request needs in order to run.
  struct Waiting {
    RequestSpec spec;
    /// The prefix that the request waits for.
    std::optional<ComingPrefix> awaits = {};
    bool mayAwait = true;
  };
  struct Known {
    FairQueueing::Place place;
    std::optional<Waiting> waiting; ///< set unless the request runs
    QueuePriority queuePriority;    ///< of a running request
    int64_t promptTokens = 0;
    /// Positions that the tenant has been charged for, or did not have to be.
    int64_t charged = 0;
    /// Whether it was preempted for another tenant's request.
    bool gaveWay = false;
    /// It is not preempted for other tenants before so many positions are
    /// charged: it computes as many new rows as it had to compute again.
    int64_t staysUntil = 0;
    Time came{0};
    std::optional<Time> started;
    std::optional<RequestId> slot; ///< the slot of a running request
    RequestId lastSlot = -1;       ///< the present or the last slot
    std::optional<Time> deadline;
    std::optional<Time> startsUntil; ///< of a request that has not started
    int64_t cachedTokens = 0;        ///< at the request's start
    SpeculationCounters speculation; ///< up to its last preemption

    RequestNumber number() const { return place.own.number; }
  };
  /// What changes when the request that computes an awaited prefix leaves:
  /// `gone` is the prefix as that request computed it, `now` the same prefix as
  /// computed by a request that had waited for it.
  struct Handover {
    ComingPrefix gone, now;
  };
  /// A time, and the request that must be looked at then.
  using Alarm = std::pair<Time, RequestNumber>;

  Scheduler(Head head, const SchedulerLimits &limits);
  void updateQueuePriorities(TenantNumber tenant);
  QueuePriority priorityOfRunning(const Known &request,
                                  const QueuePriority &fair) const;
  void chargeWork(Known &request, int64_t atLeast);
  void chargeRunning();
  void join(Known &request, RequestSpec spec);
  void forget(std::unordered_map<RequestNumber, Known>::iterator request);
  void stopRunning(Known &request);
  void settle(Time now);
  void takeHeadEvents(Time now);
  void endAlarms(Time now);
  void startReserved(Time now);
  bool isReserved(RequestNumber number) const;
  void queueChanged(const QueuePriority &at);
  void admitWaiting(Time now);
  void walkThroughQueue(std::optional<Handover> &changed, Time now);
  bool waitsForPrefix(Waiting &request, const std::optional<Handover> &changed);
  std::optional<RequestId> admit(Known &request, const QueuePriority &spared,
                                 const HeadClaims &claims, Time now);
  void run(Known &request, RequestId slot, Time now);
  void stopAwaiting(Known &request);
  void makeWayFor(const QueuePriority &newcomer, Time now);
  bool evictLast(RequestNumber newcomer, Time now);
  int64_t queued() const;
  int64_t maxWaiting() const;
  int64_t freeSlots() const;
  QueuePriority lastSpared(const Known &request,
                           const QueuePriority &queuePriority) const;
  bool canHaveSlot(const QueuePriority &spared, const HeadClaims &claims) const;
  QueuePriority lastToStay(bool started, const QueuePriority &spared);
  void reportEnd(RequestNumber number, FinishReason reason, Time now);

  Head head;
  SchedulerLimits limits;
  UserEvents reported;

  RequestNumber next = 0;
  FairQueueing fairness;
  std::optional<TenantNumber> admitting; ///< whose request others give way to
  int64_t waiting = 0;                   ///< newcomers and preempted requests
  int64_t preemptedNow = 0;              ///< of these, preempted requests
  /// The first request without room. It and the requests after it need not be
  /// looked at before something changes.
  std::optional<RequestNumber> stuck;
  /// Whether `stuck` could preempt more requests if fewer requests waited.
  bool tooManyWait = false;
  /// Whether the queue has changed since admitWaiting().
  bool hasChanged = false;
  uint64_t chancesSeen = 0; ///< Head::chances() at the last admitWaiting()
  std::unordered_map<RequestNumber, Known> known;
  /// [slot]: the request that runs in it, or null.
  std::vector<Known *> inSlot;
  /// Queue priorities of running requests, sorted.
  std::vector<QueuePriority> runs;
  /// Waiting requests with a reserved slot, in order.
  std::vector<RequestNumber> reserved;
  int64_t newcomersReserved = 0; ///< of these, newcomers
  std::set<Alarm> alarms;
  int64_t preemptionsSoFar = 0, prefixWaitsSoFar = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SCHEDULER_H
