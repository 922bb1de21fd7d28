//===- Monitor.cpp - a thread that watches the server ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Monitor.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/HeapMemory.h"
#include "runtime/pipeline/Clock.h"
#include "runtime/text/JsonWriter.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::serve;

using text::JsonWriter;

/// Memory that a burst of requests has left in the allocator is returned to the
/// system if it is more than this, in bytes.
static constexpr int64_t trimmedBytes = int64_t{64} << 20;

/// Writes the acceptance rate of the guesses decided between two marks.
static void writeAcceptance(JsonWriter &json, const SpeculationCounters &before,
                            const SpeculationCounters &now) {
  const int64_t accepted = now.accepted - before.accepted;
  const int64_t decided = accepted + now.cancelled - before.cancelled;
  json.key("acceptance");
  if (decided > 0)
    json.number(static_cast<double>(accepted) / static_cast<double>(decided));
  else
    json.null();
}

std::string serve::statusJson(const std::string &model,
                              const StatusMark &before, const StatusMark &now) {
  const pipeline::HeadStatus &old = before.status.head;
  const pipeline::HeadStatus &head = now.status.head;
  const double seconds =
      std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-3);
  const auto steps = static_cast<double>(head.steps - old.steps);
  auto rate = [seconds](auto newer, auto older) {
    return static_cast<double>(newer - older) / seconds;
  };
  auto perStep = [steps](int64_t newer, int64_t older) {
    return steps > 0 ? static_cast<double>(newer - older) / steps : 0;
  };
  JsonWriter json(JsonWriter::Style::Compact);
  json.beginObject();
  json.key("time").number(
      std::chrono::duration<double>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  json.key("model").string(model);
  json.key("interval").number(seconds);
  json.key("running").number(head.running);
  json.key("waiting").number(head.waiting);
  json.key("paused").number(head.preempted);
  json.key("pages").beginObject();
  json.key("all").number(head.pages);
  json.key("used").number(head.pagesUsed);
  json.key("kept").number(head.pagesPinned);
  json.endObject();
  json.key("tokens_per_second").number(rate(now.tokens, before.tokens));
  json.key("prompt_tokens_per_second")
      .number(rate(head.promptRows, old.promptRows));
  json.key("steps_per_second").number(steps / seconds);
  json.key("rows_per_step").beginObject();
  json.key("prompt").number(perStep(head.promptRows, old.promptRows));
  json.key("certain").number(perStep(head.certainRows, old.certainRows));
  json.key("guesses").number(perStep(head.guessRows, old.guessRows));
  json.endObject();
  writeAcceptance(json, old.speculation, head.speculation);
  int64_t departed = 0, departedBefore = 0;
  json.key("lanes").beginArray();
  for (size_t i = 0; i < now.status.ranks.size(); ++i) {
    const RankCounters &rank = now.status.ranks[i];
    const RankCounters was = i < before.status.ranks.size()
                                 ? before.status.ranks[i]
                                 : RankCounters();
    departed += rank.departed;
    departedBefore += was.departed;
    json.beginObject();
    json.key("name").string(rank.name);
    json.key("busy").number(
        std::clamp(rate(rank.busyNanos, was.busyNanos) / 1e9, 0.0, 1.0));
    json.key("rows_per_second").number(rate(rank.rows, was.rows));
    json.endObject();
  }
  json.endArray();
  json.key("left_per_step").number(perStep(departed, departedBefore));
  json.endObject();
  return json.take();
}

Time StallLimits::ofSteps(const pipeline::HeadStatus &head) const {
  constexpr int64_t patience = 4;
  if (head.steps == 0)
    return std::max(usual, firstStep);
  Time longest{0};
  for (const pipeline::StageTotals &stage : head.stages)
    longest += Time(stage.longestNanos);
  longest *= patience;
  // A larger step may be under way. Its time grows with its rows at most.
  const int64_t done = std::max<int64_t>(1, head.maxRowsDone);
  const int64_t more = std::max<int64_t>(1, (head.maxRows + done - 1) / done);
  const Time larger = more > firstStep / std::max(longest, Time(1))
                          ? firstStep
                          : more * longest;
  return std::max({usual, longest, larger});
}

Monitor::Monitor(std::string model, const ServingEngine &engine,
                 const WorkPool &pool, ServeMetrics &metrics, RequestLog &log,
                 StallLimits limits)
    : model(std::move(model)), engine(engine), pool(pool), metrics(metrics),
      log(log), limits(limits) {}

Monitor::~Monitor() { stop(); }

Status Monitor::start() {
  keepMemoryReserve();
  boundFreeHeap();
  before = mark();
  return guarded([this] {
    thread = std::thread([this] { run(); });
    return Status();
  });
}

void Monitor::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
  for (Watcher &watcher : watchers)
    watcher.responder.endEvents();
  watchers.clear();
  log.flush();
}

/// Returns the index of the watcher that has to give way to one of `newcomer`:
/// watchers.size() if there is room for one more, and nothing if none has to.
/// The caller holds the mutex.
std::optional<size_t> Monitor::findPlace(TenantId newcomer) const {
  if (watchers.size() < maxWatchers)
    return watchers.size();
  std::unordered_map<TenantId, size_t> counts = {{newcomer, 0}};
  for (const Watcher &watcher : watchers)
    ++counts[watcher.tenant];
  auto busiest = std::ranges::max_element(
      counts, {}, [](const auto &each) { return each.second; });
  if (busiest->second < counts[newcomer] + 2)
    return std::nullopt;
  auto last = std::ranges::find(watchers.rbegin(), watchers.rend(),
                                busiest->first, &Watcher::tenant);
  return static_cast<size_t>(std::prev(last.base()) - watchers.begin());
}

void Monitor::watch(Responder responder, TenantId tenant) {
  std::lock_guard lock(mutex);
  const std::optional<size_t> place = findPlace(tenant);
  if (stopping || !place)
    return responder.fail({.status = 503,
                           .message = "too many watch already",
                           .code = "too_many_watchers"});
  if (!responder.startEvents())
    return responder.clientLeft();
  if (*place < watchers.size()) {
    watchers[*place].responder.endEvents();
    watchers.erase(watchers.begin() + static_cast<ptrdiff_t>(*place));
  }
  watchers.push_back({std::move(responder), tenant});
}

void Monitor::run() {
  auto next = std::chrono::steady_clock::now();
  int64_t tickNumber = 0;
  std::unique_lock lock(mutex);
  while (!stopping) {
    next = std::max(next + tick, std::chrono::steady_clock::now());
    changed.wait_until(lock, next, [this] { return stopping; });
    lock.unlock();
    // If memory runs out, one event is missing.
    (void)guarded([&] {
      look(++tickNumber);
      return Status();
    });
    lock.lock();
  }
}

void Monitor::look(int64_t tickNumber) {
  const pipeline::HeadStatus head = engine.status().head;
  metrics.noteSteps(head);
  {
    const Time now = pipeline::now();
    const Movement beginMoves = pool.beginMovement();
    const Movement proceedMoves = pool.proceedMovement();
    const Movement longMoves = pool.longMovement();
    std::lock_guard lock(mutex);
    steps.look(now, {.count = head.steps, .hasWork = head.running > 0});
    begins.look(now, beginMoves);
    proceeds.look(now, proceedMoves);
    longBegins.look(now, longMoves);
    stepLimit = limits.ofSteps(head);
    if (head.notFinite > std::exchange(notFinite, head.notFinite))
      notFiniteAt = now;
    brokenModel = head.notFiniteInARow >= maxNotFinite &&
                          now < notFiniteAt + forgivenAfter
                      ? head.firstNotFinite
                      : "";
  }
  log.flush();
  keepMemoryReserve(); // allocates it again if it was given up
  if (tickNumber % ticksATrim == 0)
    trimHeap(trimmedBytes);
  if (tickNumber % ticksAnEvent == 0)
    tell();
}

Status Monitor::working() const {
  const Time now = pipeline::now();
  std::lock_guard lock(mutex);
  auto inSeconds = [](Time time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  };
  if (Time stalled = steps.stalledFor(now); stalled > stepLimit)
    return failure("no step has ended for ", inSeconds(stalled), " s");
  if (Time stalled = std::max(begins.stalledFor(now), proceeds.stalledFor(now));
      stalled > limits.usual)
    return failure("the threads that read requests have been stuck for ",
                   inSeconds(stalled), " s");
  if (Time stalled = longBegins.stalledFor(now);
      stalled > limits.longBegins * limits.usual)
    return failure("the threads that read long requests have been stuck for ",
                   inSeconds(stalled), " s");
  if (!brokenModel.empty())
    return failure("the model gives no numbers any more; first: ", brokenModel);
  return {};
}

StatusMark Monitor::mark() const {
  return {.at = pipeline::now(),
          .status = engine.status(),
          .tokens = metrics.generationTokens.value()};
}

void Monitor::tell() {
  StatusMark now = mark();
  std::lock_guard lock(mutex);
  if (!watchers.empty()) {
    std::string event = "data: " + statusJson(model, before, now) + "\n\n";
    std::erase_if(watchers, [&event](Watcher &watcher) {
      bool isThere = watcher.responder.write(event);
      if (!isThere)
        watcher.responder.clientLeft();
      return !isThere;
    });
  }
  before = std::move(now);
}
