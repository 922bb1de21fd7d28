//===- TokenGrammar.cpp - a grammar over a vocabulary ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/TokenGrammar.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/Workspace.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

size_t StateMask::bytes() const {
  return sizeof(*this) + words.capacity() * sizeof(uint64_t) +
         tokens.capacity() * sizeof(TokenId) +
         returns.capacity() * sizeof(Nodes);
}

void StateMask::addReturns(uint32_t first, uint32_t last) {
  returnCount += last - first;
  if (!returns.empty() && returns.back().last == first)
    returns.back().last = last;
  else
    returns.push_back({first, last});
}

Status TokenGrammar::tooAmbiguous() {
  return failure("the grammar is too ambiguous: a mask takes more than ",
                 maxMaskSteps, " steps or ", maxScratchEdges, " frames");
}

size_t TokenGrammar::PlaceHash::operator()(const RulePlace &place) const {
  constexpr uint64_t odd = 0x9E3779B97F4A7C15;
  uint64_t hash = (uint64_t(place.state) << 32 | place.count) * odd;
  return static_cast<size_t>((hash ^ hash >> 32 ^ place.caller) * odd);
}

TokenGrammar::TokenGrammar(Grammar grammar,
                           std::shared_ptr<const TokenTrie> trie,
                           size_t cacheBytes)
    : rules(std::move(grammar)), vocabulary(std::move(trie)),
      cacheLimit(cacheBytes) {}

size_t TokenGrammar::cachedBytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  return held;
}

/// Returns a count that gives the same mask as `count`, and that as many counts
/// as possible share. A token cannot distinguish counts whose distance from the
/// next one at which the rule's states behave differently exceeds its length in
/// bytes.
uint32_t TokenGrammar::countThatMatters(uint32_t state, uint32_t count) const {
  const GrammarTables &tables = rules.tables();
  if (!(tables.states[state].flags & GrammarTables::Counted))
    return 0;
  GrammarTables::Stretch stretch =
      tables.stretchOf(tables.rules[tables.states[state].rule], count);
  uint32_t reach = vocabulary->longestToken();
  return stretch.end - count > reach ? stretch.first : count;
}

Expected<TokenGrammar::Mask> TokenGrammar::makeMask(RulePlace place,
                                                    WorkMeter &meter) const {
  BorrowedWorkspace space;
  GrammarMatcher &matcher = space->walk.matcher;
  matcher.attach(rules.tables(), space->noEntries, meter);
  // The lowest entry stands for any entry: an item that returns to it ends its
  // walk.
  uint32_t stackEntry = matcher.lowestEntry();
  if (place.caller != RulePlace::none)
    stackEntry = matcher.stackEntryFor({place.caller, stackEntry});
  matcher.items.push_back({place.state, place.count, stackEntry});
  auto mask = std::make_shared<StateMask>();
  const TokenTrie &trie = *vocabulary;
  bool done = space->walk.below(
      trie, 0, [&](uint32_t first, uint32_t last, size_t begin, size_t end) {
        auto tokens = trie.tokensAt(first, last);
        mask->tokens.insert(mask->tokens.end(), tokens.begin(), tokens.end());
        if (trie.nodes()[first].skip == first + 1)
          return; // no token continues after this node
        for (size_t i = begin; i < end; ++i)
          if (matcher.items[i].state == GrammarTables::textEnd)
            mask->addReturns(first, last);
      });
  if (!done)
    return tooAmbiguous();
  // For more tokens, a bit for each token takes less room than the list.
  if (mask->tokens.size() > maskWords() * 2) {
    mask->words.resize(maskWords());
    for (TokenId token : mask->tokens)
      mask->words[static_cast<size_t>(token) / 64] |= uint64_t(1)
                                                      << (token % 64);
    mask->tokens = {};
  }
  mask->tokens.shrink_to_fit();
  mask->returns.shrink_to_fit();
  return Mask(std::move(mask));
}

TokenGrammar::Mask TokenGrammar::find(const RulePlace &place) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = entries.find(place);
  if (found == entries.end())
    return nullptr;
  byUse.splice(byUse.begin(), byUse, found->second);
  return found->second->mask;
}

void TokenGrammar::keep(const RulePlace &place, const Mask &mask) const {
  constexpr size_t entryBytes = 128; // about, of the list and the table
  auto cost = [](const Mask &mask) { return mask->bytes() + entryBytes; };
  if (cost(mask) > cacheLimit)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (entries.contains(place))
    return; // another thread was faster
  // What can fail for want of memory comes first: a mask without its place in
  // the table could not be removed.
  std::list<Entry> made;
  made.push_front({place, mask});
  entries.emplace(place, made.begin());
  byUse.splice(byUse.begin(), made);
  held += cost(mask);
  while (held > cacheLimit) {
    held -= cost(byUse.back().mask);
    entries.erase(byUse.back().place);
    byUse.pop_back();
  }
}

Expected<TokenGrammar::Mask> TokenGrammar::maskOf(RulePlace place,
                                                  WorkMeter &meter) const {
  place.count = countThatMatters(place.state, place.count);
  if (Mask mask = find(place))
    return mask;
  Expected<Mask> made = makeMask(place, meter);
  if (made)
    keep(place, *made);
  return made;
}
