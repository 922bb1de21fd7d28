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
#include "runtime/pipeline/Clock.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// How many bytes of masks a grammar keeps.
constexpr size_t maskCacheBytes = size_t(8) << 20;
/// The work spent on a grammar's first mask in advance. A request that needs
/// more waits for it alone.
constexpr size_t firstMaskSteps = size_t(1) << 20;

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
    if ((wanted = find(source)))
      return wanted;
    wanted = std::make_shared<WantedGrammar>(source, tenant);
    times.setState(tenant, VirtualTimes::State::Waiting);
    queue.push_back({wanted, tenant});
  }
  changed.notify_all();
  return wanted;
}

/// Returns the grammar if it is kept, in progress or queued; else null.
std::shared_ptr<WantedGrammar> GrammarMaker::find(const GrammarSource &source) {
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
  for (const Queued &each : queue)
    if (std::shared_ptr<WantedGrammar> waiting = each.wanted.lock();
        is(waiting))
      return waiting;
  return nullptr;
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
  using State = VirtualTimes::State;
  auto belongs = [tenant](const auto &each) { return each.tenant == tenant; };
  auto isServed = [&](const Worker &worker) {
    return worker.current && belongs(*worker.current);
  };
  times.setState(tenant, std::ranges::any_of(queue, belongs) ? State::Waiting
                         : isServed(quick) || isServed(slow) ? State::Served
                                                             : State::Away);
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
    lock.unlock();
    const Time began = now();
    WorkMeter meter(work, [&] { return isUnwanted(worker); });
    Made made = guarded([&] { return makeNow(wanted.source, meter); });
    lock.lock();
    const TenantNumber tenant = wanted.tenant;
    times.advance(tenant, now() - began);
    const bool isTooLong =
        !worker.isSlow && meter.end() == WorkMeter::End::Time;
    wanted.isLong |= isTooLong;
    if (!isTooLong && meter.end() != WorkMeter::End::Unwanted)
      publish(worker, std::move(made), lock);
    else if (worker.current.use_count() > 1) // a request holds it
      insist(lock, [&] { queue.push_front({worker.current, tenant}); });
    worker.current = nullptr;
    updateState(tenant);
    changed.notify_all();
  }
}

void GrammarMaker::publish(Worker &worker, Made made,
                           std::unique_lock<std::mutex> &lock) {
  lock.unlock();
  worker.current->promise.set_value(std::move(made));
  if (onMade)
    onMade();
  lock.lock();
  insist(lock, [&] { keep(worker.current); });
}

/// Keeps a made grammar for later requests.
void GrammarMaker::keep(const std::shared_ptr<WantedGrammar> &wanted) {
  known.push_front(wanted);
  size_t count = 0, bytes = 0;
  const auto isTooMuch = [&](const std::shared_ptr<WantedGrammar> &each) {
    bytes += each->source.text().size();
    if (const Made &made = each->get())
      bytes += (*made)->grammar().bytes() + maskCacheBytes;
    return ++count > limits.kept || bytes > limits.keptBytes;
  };
  known.erase(std::ranges::find_if(known, isTooMuch), known.end());
}

GrammarMaker::Made GrammarMaker::makeNow(const GrammarSource &source,
                                         WorkMeter &meter) {
  if (!trie) {
    auto made = makeTrie();
    if (!made)
      return made.status().withContext("grammar");
    trie = made.take();
  }
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
