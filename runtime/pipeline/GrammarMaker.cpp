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

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// How many grammars are kept for later requests, and how many bytes of masks
/// each of them keeps.
constexpr size_t maxKnown = 16;
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
    return cache.fromJsonSchema(source.text(), meter);
  case GrammarSource::Kind::Gbnf:
    return cache.fromGbnf(source.text(), meter);
  case GrammarSource::Kind::JsonObject:
  case GrammarSource::Kind::None:
    break;
  }
  return Grammar::anyJsonObject();
}

GrammarMaker::GrammarMaker(MakeTokenTrie makeTrie, std::function<void()> onMade)
    : makeTrie(std::move(makeTrie)), onMade(std::move(onMade)) {}

Status GrammarMaker::start() {
  return guarded([this] {
    thread = std::thread([this] { run(); });
    return Status();
  });
}

GrammarMaker::~GrammarMaker() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

std::shared_ptr<WantedGrammar> GrammarMaker::make(const GrammarSource &source) {
  std::shared_ptr<WantedGrammar> wanted;
  {
    std::lock_guard lock(mutex);
    auto is = [&](const std::shared_ptr<WantedGrammar> &each) {
      return each && each->source == source;
    };
    if (auto same = std::ranges::find_if(known, is); same != known.end()) {
      known.splice(known.begin(), known, same);
      return known.front();
    }
    if (is(current))
      return current;
    for (auto each = queue.begin(); each != queue.end();) {
      std::shared_ptr<WantedGrammar> waiting = each->lock();
      if (is(waiting))
        return waiting;
      each = waiting ? std::next(each) : queue.erase(each);
    }
    wanted = std::make_shared<WantedGrammar>(source);
    queue.push_back(wanted);
  }
  changed.notify_all();
  return wanted;
}

void GrammarMaker::hurry(WantedGrammar &wanted) {
  std::lock_guard lock(mutex);
  wanted.urgent = true;
}

/// Removes the next grammar from the queue and returns it, or null. Removes
/// those that no request holds, too.
std::shared_ptr<WantedGrammar> GrammarMaker::takeNext() {
  std::shared_ptr<WantedGrammar> next;
  auto place = queue.end();
  for (auto each = queue.begin(); each != queue.end();) {
    std::shared_ptr<WantedGrammar> waiting = each->lock();
    if (!waiting) {
      each = queue.erase(each);
      continue;
    }
    if (!next || (waiting->urgent && !next->urgent)) {
      next = std::move(waiting);
      place = each;
    }
    ++each;
  }
  if (next)
    queue.erase(place);
  return next;
}

/// Returns whether only the maker holds the grammar in progress.
bool GrammarMaker::isCurrentUnwanted() {
  std::lock_guard lock(mutex);
  return closed || current.use_count() == 1;
}

void GrammarMaker::run() {
  giveWayToOthers();
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return closed || !queue.empty(); });
    if (closed)
      return;
    current = takeNext();
    if (!current)
      continue;
    lock.unlock();
    WorkMeter meter(grammar::maxGrammarWork,
                    [this] { return isCurrentUnwanted(); });
    Made made = guarded([&] { return makeNow(current->source, meter); });
    lock.lock();
    if (meter.end() == WorkMeter::End::Unwanted) {
      if (current.use_count() > 1)
        insist(lock,
               [this] { queue.push_front(current); }); // a request has taken it
      current = nullptr;
      continue;
    }
    lock.unlock();
    current->promise.set_value(std::move(made));
    if (onMade)
      onMade();
    lock.lock();
    insist(lock, [this] { known.push_front(current); });
    current = nullptr;
    if (known.size() > maxKnown)
      known.pop_back();
  }
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
