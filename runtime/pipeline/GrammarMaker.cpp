//===- GrammarMaker.cpp - makes grammars ready for use --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMaker.h"

#include "runtime/base/Guarded.h"
#include "runtime/grammar/GrammarCache.h"
#include "runtime/grammar/GrammarState.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Grammars that are kept for requests that come again, and the bytes of masks
/// that each of them keeps.
constexpr size_t mostKnown = 16;
constexpr size_t maskCacheBytes = size_t(8) << 20;

} // namespace

Expected<grammar::Grammar>
pipeline::compileGrammar(const GrammarSource &source) {
  using grammar::Grammar;
  grammar::GrammarCache &cache = grammar::GrammarCache::ofProcess();
  switch (source.kind) {
  case GrammarSource::Kind::JsonSchema:
    return cache.fromJsonSchema(source.text());
  case GrammarSource::Kind::Gbnf:
    return cache.fromGbnf(source.text());
  case GrammarSource::Kind::JsonObject:
  case GrammarSource::Kind::None:
    break;
  }
  return Grammar::anyJsonObject();
}

GrammarMaker::GrammarMaker(MakeTokenTrie makeTrie)
    : makeTrie(std::move(makeTrie)) {}

GrammarMaker::~GrammarMaker() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

std::shared_future<GrammarMaker::Made>
GrammarMaker::make(const GrammarSource &source) {
  auto same = std::ranges::find(known, source, &Known::source);
  if (same != known.end()) {
    known.splice(known.begin(), known, same);
    return same->made;
  }
  Job job{source, {}};
  known.push_front({source, job.made.get_future().share()});
  if (known.size() > mostKnown)
    known.pop_back();
  {
    std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
  }
  if (!thread.joinable())
    thread = std::thread([this] { run(); });
  changed.notify_all();
  return known.front().made;
}

void GrammarMaker::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return closed || !jobs.empty(); });
    if (closed)
      return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job.made.set_value(guarded([&] { return makeNow(job.source); }));
    lock.lock();
  }
}

GrammarMaker::Made GrammarMaker::makeNow(const GrammarSource &source) {
  if (!trie) {
    auto made = makeTrie();
    if (!made)
      return made.status().withContext("grammar");
    trie = made.take();
  }
  Expected<grammar::Grammar> rules = compileGrammar(source);
  if (!rules)
    return rules.status().withContext("grammar");
  auto made = std::make_shared<const grammar::TokenGrammar>(rules.take(), trie,
                                                            maskCacheBytes);
  // The first mask is often the dearest; its error is that of who needs it.
  std::vector<uint64_t> mask(made->maskWords());
  (void)grammar::GrammarState(made).fillMask(mask);
  return std::shared_ptr<const grammar::TokenGrammar>(std::move(made));
}
