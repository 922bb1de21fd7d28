//===- Scheduler.h - which requests run, and which wait -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which requests run, and which wait. The head runs a limited number of
// requests, and each takes pages of the cache; the others wait here, in a
// bounded queue. A newcomer joins the next step as soon as there is a slot and
// room in the cache. A request that the head had to preempt, because the cache
// is full, waits like the others and goes on later with the same tokens.
//
// Order. A request's queue priority is when it came, and `priorityStep` later
// for each level of its priority (as in vLLM, lower numbers are more urgent):
// so urgent requests overtake others, but none waits for ever, as those that
// came so much later do not overtake it any more. Nobody is let past the first
// that waits for a slot or for room: a request that needs many pages would
// starve. Where too many wait, the last in this order that has not started is
// refused: it is mostly the newcomer, or another that has waited until then.
// Who runs is preempted for one whose queue priority is earlier only where that
// is enough, and not for a newcomer once too many are preempted: those that
// have started are bounded too.
//
// Equal prefixes. A request does not compute what one that runs is computing
// just now: it waits until those pages are pinned, and begins with them. Others
// may be admitted meanwhile, as long as there is a slot and room for it as
// well. So it waits no longer than until those pages have been computed or that
// request has left. The other one's queue priority is not later than its own,
// and what is waited for leaves as a prompt of that length would: so to wait
// takes no longer than to compute the same beside it, but for the way through
// the stages. Who waits so has a slot kept for it: it does not count for the
// queue, and where it would have to leave the queue it starts instead.
//
// A pure state machine around the Head, and driven as it is:
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

#include <map>
#include <set>
#include <unordered_map>

namespace sluice {

struct SchedulerLimits {
  /// Requests that wait for their first row, at most, but for those that have a
  /// slot, and those that had one and lost it to an earlier one. Together with
  /// those that are preempted, as many more as may run.
  int64_t waiting = 1024;
  /// How long a request waits for that, at most; 0: as long as it takes.
  Time queueTimeout{0};
  /// How much later the queue priority of a request is for each level of
  /// priority.
  Time priorityStep = std::chrono::seconds(5);
};

/// What a tenant's requests are entitled to.
struct TenantTerms {
  double weight = 1;      ///< of its share, above 0
  int64_t maxRunning = 0; ///< requests that run at once; 0: as many as fit
};

struct ScheduledRequest {
  RequestSpec spec;
  /// Requests are fair to those of other tenants; see FairQueueing.
  TenantNumber tenant = 0;
  TenantTerms terms = {};
  /// Among the requests of the tenant: more urgent if lower; in [-1000, 1000].
  int32_t priority = 0;
  /// When it ends as FinishReason::Timeout, if it has not ended before.
  std::optional<Time> deadline = {};
};

/// Why a request was not taken, or was evicted from the queue.
enum class Refusal : uint8_t {
  None,
  Invalid,  ///< it can never run
  QueueFull ///< later, perhaps
};

struct Submission {
  Refusal refusal = Refusal::None;
  RequestNumber number = 0; ///< of a request that was taken
  std::string why;          ///< of one that was not
};

/// What is reported to a user of a request: its tokens in order, then its end.
struct UserToken {
  RequestNumber number = 0;
  RequestId slot = -1; ///< that the request runs in; for traces
  int32_t token = 0;
  std::vector<TokenLogProbability> report;
  bool ofPrompt = false; ///< as TokenEvent
};

struct UserEnd {
  RequestNumber number = 0;
  RequestId slot = -1; ///< that it had last, if any; for traces
  FinishReason reason = FinishReason::Stop;
  /// Of FinishReason::Cancelled: the queue was full, and the place of this one
  /// went to another whose queue priority is earlier.
  Refusal refusal = Refusal::None;
  std::string error;   ///< of FinishReason::Error, and why it was refused
  bool started = true; ///< false: it ended before it had its first row
  /// Of the prompt's tokens, those whose pages were shared when it started.
  int64_t cachedTokens = 0;
  Time waited{0}; ///< until it started, or ended without
  SpeculationCounters speculation;
};

/// After an event: first the tokens, then the ends, each in order.
struct UserEvents {
  std::vector<UserToken> tokens;
  std::vector<UserEnd> ends;
};

/// Thread-compatible. What a step takes allocates nothing; requests that come,
/// are preempted and end do.
class Scheduler {
public:
  /// Errors: limits out of range.
  static Expected<Scheduler> create(Head head, const SchedulerLimits &limits);

  Submission submit(ScheduledRequest request, Time now);
  /// Ends a request, be it waiting, running or preempted; nothing where it has
  /// ended.
  void finish(RequestNumber number, FinishReason reason, Time now);

  void onResults(const ResultFrame &frame, Time now);
  void onGuesses(const GuessFrame &frame, Time now);
  void onWake(Time now);

  /// What goes to the stages and the draft. Its tokens, ends and preemptions
  /// are empty: events() has them. `wake` is the scheduler's as well.
  HeadCommands &commands() { return head.commands(); }
  UserEvents &events() { return reported; }
  /// Once commands and events have been carried out; `wake` stays.
  void clear();

  struct Load {
    int64_t running = 0;
    int64_t waiting = 0; ///< for their first row
    int64_t preempted = 0;
    int64_t reserved = 0; ///< of `waiting`, those for which a slot is kept
    bool operator==(const Load &) const = default;
  };
  Load load() const;
  /// Requests that have been preempted so far, each time.
  int64_t preemptions() const { return preemptionsSoFar; }
  /// Likewise, that have waited for a prefix.
  int64_t prefixWaits() const { return prefixWaitsSoFar; }
  const Head &rows() const { return head; }

private:
  struct Known {
    QueuePriority queuePriority;
    TenantNumber tenant = 0;
    int64_t maxRunning = 0; ///< of the tenant
    Time came{0};
    std::optional<Time> started;
    std::optional<RequestId> slot; ///< of a request that runs
    RequestId lastSlot = -1;       ///< the same, or of one that did
    std::optional<Time> deadline;
    std::optional<Time> startsUntil; ///< of one that has not started
    int64_t cachedTokens = 0;        ///< at its start
    SpeculationCounters speculation; ///< until it was preempted last
  };
  struct Waiting {
    RequestSpec spec;
    std::optional<ComingPrefix> awaits = {}; ///< if it is still coming
    bool mayAwait = true;
  };
  using Queue = std::map<QueuePriority, Waiting>;
  /// Who computes what others wait for has left, and one of them goes on.
  struct Handover {
    ComingPrefix gone, now;
  };
  /// Which request is to be looked at when.
  using Alarm = std::pair<Time, RequestNumber>;

  Scheduler(Head head, const SchedulerLimits &limits);
  QueuePriority assignQueuePriority(const ScheduledRequest &wanted,
                                    RequestNumber number, Time now);
  void changeQueuePriority(const FairQueueing::Change &change);
  bool isCapped(RequestNumber number) const;
  void stopRunning(const Known &request);
  void settle(Time now);
  void takeHeadEvents(Time now);
  void endAlarms(Time now);
  void startReserved(Time now);
  void queueChanged(const QueuePriority &at);
  void admitWaiting(Time now);
  bool waitsForPrefix(Waiting &request, const std::optional<Handover> &changed);
  std::optional<RequestId> admit(Queue::value_type &first,
                                 const HeadClaims &claims, Time now);
  Queue::iterator run(Queue::iterator first, RequestId slot, Time now);
  void stopAwaiting(const QueuePriority &queuePriority);
  void makeWayFor(const QueuePriority &newcomer, Time now);
  bool evictLast(RequestNumber newcomer, Time now);
  int64_t queued() const;
  int64_t maxWaiting() const;
  int64_t freeSlots() const;
  bool canHaveSlot(const QueuePriority &queuePriority,
                   const HeadClaims &claims) const;
  QueuePriority lastToStay(const QueuePriority &queuePriority);
  void reportEnd(RequestNumber number, FinishReason reason, Time now);

  Head head;
  SchedulerLimits limits;
  UserEvents reported;

  RequestNumber next = 0;
  FairQueueing fairness;
  std::vector<FairQueueing::Change>
      priorityChanges; ///< work of assignQueuePriority()
  std::unordered_map<TenantNumber, int64_t> runningOf; ///< requests in slots
  Queue waiting;            ///< newcomers and preempted ones
  int64_t preemptedNow = 0; ///< of those that wait
  /// The first that there was no room for: it and those behind it need not be
  /// looked at before something changes.
  std::optional<QueuePriority> stuck;
  /// It could preempt more if fewer were out.
  bool tooManyWait = false;
  bool hasChanged = false;  ///< the queue, since it was looked at
  uint64_t chancesSeen = 0; ///< of the head, when it was
  std::unordered_map<RequestNumber, Known> known;
  std::vector<RequestNumber> inSlot; ///< [slot]: the request that has it
  std::vector<QueuePriority> runs;   ///< who has a slot; in order
  std::vector<QueuePriority>
      reserved; ///< who waits and has one kept for it; in order
  int64_t newcomersReserved = 0; ///< of those, who have not started
  std::set<Alarm> alarms;
  int64_t preemptionsSoFar = 0, prefixWaitsSoFar = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SCHEDULER_H
