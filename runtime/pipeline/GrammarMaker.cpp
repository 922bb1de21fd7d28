//===- GrammarMaker.cpp - compiles the grammars of requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMaker.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/base/ThreadPriority.h"
#include "runtime/grammar/GrammarCache.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/GrammarState.h"

#include <algorithm>
#include <ctime>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// How many bytes of masks a grammar keeps.
constexpr size_t maskCacheBytes = size_t(8) << 20;
/// The work spent on a grammar's first mask in advance. A request that needs
/// more waits for it alone.
constexpr size_t firstMaskSteps = size_t(1) << 20;

/// The time that the processor has spent on this thread.
WorkMeter::Clock::time_point threadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return WorkMeter::Clock::time_point(std::chrono::seconds(time.tv_sec) +
                                      std::chrono::nanoseconds(time.tv_nsec));
}

} // namespace

Expected<grammar::Grammar> pipeline::compileGrammar(const GrammarSource &source,
                                                    WorkMeter &meter) {
  using grammar::Grammar;
  grammar::GrammarCache &cache = grammar::GrammarCache::ofProcess();
  switch (source.kind) {
  case GrammarSource::Kind::JsonSchema:
    return cache.fromJsonSchema(source.text(), meter, source.scope);
  case GrammarSource::Kind::Gbnf:
    return cache.fromGbnf(source.text(), meter, source.scope);
  case GrammarSource::Kind::JsonObject:
  case GrammarSource::Kind::None:
    break;
  }
  return Grammar::anyJsonObject();
}

GrammarMaker::GrammarMaker(MakeTokenTrie makeTrie, std::function<void()> onMade)
    : GrammarMaker(std::move(makeTrie), std::move(onMade), Limits()) {}

GrammarMaker::GrammarMaker(MakeTokenTrie makeTrie, std::function<void()> onMade,
                           Limits limits)
    : limits(limits), makeTrie(std::move(makeTrie)), onMade(std::move(onMade)) {
}

Status GrammarMaker::start() {
  return guarded([this] {
    for (Worker *worker : {&quick, &slow})
      worker->thread = std::thread([this, worker] { run(*worker); });
    return Status();
  });
}

GrammarMaker::~GrammarMaker() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  changed.notify_all();
  for (Worker *worker : {&quick, &slow})
    if (worker->thread.joinable())
      worker->thread.join();
}

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

std::shared_ptr<WantedGrammar> GrammarMaker::make(const GrammarSource &source,
                                                  TenantNumber tenant) {
  std::shared_ptr<WantedGrammar> wanted;
  {
    std::lock_guard lock(mutex);
    if ((wanted = find(source, tenant)))
      return wanted;
    wanted = std::make_shared<WantedGrammar>(source, tenant);
    times.setState(tenant, VirtualTimes::State::Waiting);
    queue.push_back({wanted, tenant});
  }
  changed.notify_all();
  return wanted;
}

/// Returns the grammar if it is kept, in progress or queued; else null.
std::shared_ptr<WantedGrammar> GrammarMaker::find(const GrammarSource &source,
                                                  TenantNumber tenant) {
  auto is = [&](const std::shared_ptr<WantedGrammar> &each) {
    return each && each->source == source;
  };
  if (auto same = std::ranges::find_if(known, is); same != known.end()) {
    known.splice(known.begin(), known, same);
    return known.front();
  }
  for (const Worker *worker : {&quick, &slow})
    if (is(worker->current))
      return worker->current;
  for (Queued &each : queue)
    if (std::shared_ptr<WantedGrammar> waiting = each.wanted.lock();
        is(waiting)) {
      join(each, *waiting, tenant);
      return waiting;
    }
  return nullptr;
}

/// Lets a queued grammar have the turn of another tenant that wants it too, if
/// that one has had less.
void GrammarMaker::join(Queued &queued, WantedGrammar &wanted,
                        TenantNumber tenant) {
  const TenantNumber before = wanted.tenant;
  times.setState(tenant, VirtualTimes::State::Waiting);
  if (times.of(tenant) <= times.of(before))
    queued.tenant = wanted.tenant = tenant;
  updateState(tenant);
  updateState(before);
}

void GrammarMaker::hurry(WantedGrammar &wanted) {
  std::lock_guard lock(mutex);
  wanted.isUrgent = true;
}

/// Makes the worker's next grammar its current one. Returns false if there is
/// none.
bool GrammarMaker::takeNext(Worker &worker) {
  removeUnwanted();
  auto turn = [this](const WantedGrammar &wanted) {
    return std::pair(!wanted.isUrgent, times.of(wanted.tenant));
  };
  auto place = queue.end();
  for (auto each = queue.begin(); each != queue.end(); ++each) {
    std::shared_ptr<WantedGrammar> waiting = each->wanted.lock();
    if (!waiting || waiting->isLong != worker.isSlow ||
        (worker.current && turn(*worker.current) <= turn(*waiting)))
      continue;
    worker.current = std::move(waiting);
    place = each;
  }
  if (!worker.current)
    return false;
  queue.erase(place);
  updateState(worker.current->tenant);
  return true;
}

/// Removes the grammars that no request holds from the queue.
void GrammarMaker::removeUnwanted() {
  for (auto each = queue.begin(); each != queue.end();) {
    if (!each->wanted.expired()) {
      ++each;
      continue;
    }
    const TenantNumber tenant = each->tenant;
    each = queue.erase(each);
    updateState(tenant);
  }
}

/// Notes whether a tenant's grammars wait to be made.
void GrammarMaker::updateState(TenantNumber tenant) {
  auto belongs = [tenant](const auto &each) { return each.tenant == tenant; };
  auto isServed = [&](const Worker &worker) {
    return worker.current && belongs(*worker.current);
  };
  times.setState(tenant,
                 VirtualTimes::stateOf(std::ranges::any_of(queue, belongs),
                                       isServed(quick) || isServed(slow)));
}

//===----------------------------------------------------------------------===//
// The threads
//===----------------------------------------------------------------------===//

/// Returns whether only the maker holds the grammar in progress.
bool GrammarMaker::isUnwanted(const Worker &worker) {
  std::lock_guard lock(mutex);
  return closed || worker.current.use_count() == 1;
}

void GrammarMaker::run(Worker &worker) {
  giveWayToOthers();
  WorkMeter::Limits work = grammar::maxGrammarWork;
  if (!worker.isSlow)
    work.time = limits.quickTime;
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closed || takeNext(worker); });
    if (closed)
      return;
    WantedGrammar &wanted = *worker.current;
    const TenantNumber tenant = wanted.tenant;
    lock.unlock();
    Status ready = guarded([&] { return needTrie(); });
    const auto began = threadTime();
    WorkMeter meter(
        work, [&] { return isUnwanted(worker); },
        worker.isSlow ? WorkMeter::Clock::now : threadTime);
    // Not where memory ran out, or the time.
    bool comesToTheSame = false;
    Made made = guarded([&]() -> Made {
      if (!ready.ok())
        return ready;
      Made now = makeNow(wanted.source, meter);
      comesToTheSame =
          now || meter.end() == WorkMeter::End::None || meter.endsAlways();
      return now;
    });
    lock.lock();
    times.advance(tenant, threadTime() - began);
    const bool isTooLong =
        !worker.isSlow && meter.end() == WorkMeter::End::Time;
    wanted.isLong |= isTooLong;
    if (!isTooLong && meter.end() != WorkMeter::End::Unwanted)
      publish(worker, std::move(made), comesToTheSame, lock);
    else if (worker.current.use_count() > 1) // a request holds it
      insist(lock, [&] { queue.push_front({worker.current, tenant}); });
    worker.current = nullptr;
    updateState(tenant);
    changed.notify_all();
  }
}

void GrammarMaker::publish(Worker &worker, Made made, bool isKept,
                           std::unique_lock<std::mutex> &lock) {
  std::shared_ptr<WantedGrammar> wanted = worker.current;
  if (!isKept) // A request that has seen the error asks for another try.
    worker.current = nullptr;
  lock.unlock();
  wanted->promise.set_value(std::move(made));
  if (onMade)
    onMade();
  lock.lock();
  if (!isKept)
    return;
  std::list<std::shared_ptr<WantedGrammar>> dropped;
  insist(lock, [&] { dropped = keep(wanted); });
  lock.unlock();
  dropped.clear(); // large data; others need not wait for the mutex meanwhile
  lock.lock();
}

/// Keeps a made grammar for later requests. Returns those that are not kept any
/// more.
std::list<std::shared_ptr<WantedGrammar>>
GrammarMaker::keep(const std::shared_ptr<WantedGrammar> &wanted) {
  auto bytesOf = [](const std::shared_ptr<WantedGrammar> &each) {
    const Made &made = each->get();
    return each->source.text().size() +
           (made ? (*made)->grammar().bytes() + maskCacheBytes : 0);
  };
  std::list<std::shared_ptr<WantedGrammar>> dropped;
  if (bytesOf(wanted) > limits.keptBytes / 2)
    return dropped;
  known.push_front(wanted);
  size_t count = 0, bytes = 0;
  auto last = std::ranges::find_if(known, [&](const auto &each) {
    bytes += bytesOf(each);
    return ++count > limits.kept || bytes > limits.keptBytes;
  });
  dropped.splice(dropped.end(), known, last, known.end());
  return dropped;
}

/// Makes the vocabulary when the first grammar is to be made.
Status GrammarMaker::needTrie() {
  if (trie)
    return {};
  auto made = makeTrie();
  if (!made)
    return made.status().withContext("grammar");
  trie = made.take();
  return {};
}

GrammarMaker::Made GrammarMaker::makeNow(const GrammarSource &source,
                                         WorkMeter &meter) {
  Expected<grammar::Grammar> rules = compileGrammar(source, meter);
  if (!rules)
    return rules.status().withContext("grammar");
  auto made = std::make_shared<const grammar::TokenGrammar>(rules.take(), trie,
                                                            maskCacheBytes);
  // The first mask is often the most expensive. An error in it is that of the
  // request that needs it.
  WorkMeter few({.steps = firstMaskSteps});
  std::vector<uint64_t> mask(made->maskWords());
  (void)grammar::GrammarState(made).fillMask(mask, few);
  return std::shared_ptr<const grammar::TokenGrammar>(std::move(made));
}
