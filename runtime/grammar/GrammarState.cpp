//===- GrammarState.cpp - the state of a text in its grammar --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarState.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/Workspace.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <shared_mutex>

using namespace sluice;
using namespace sluice::grammar;

namespace {

void setBits(std::span<uint64_t> bits, std::span<const TokenId> tokens) {
  for (TokenId token : tokens)
    bits[static_cast<size_t>(token) / 64] |= uint64_t(1) << (token % 64);
}

} // namespace

/// The stacks that a state and its copies share.
struct GrammarState::Family {
  StackTable stackEntries;
  mutable std::shared_mutex mutex; ///< guards `stackEntries`
};

GrammarState::GrammarState(std::shared_ptr<const TokenGrammar> grammar)
    : grammar(std::move(grammar)), family(std::make_shared<Family>()) {
  BorrowedWorkspace space;
  GrammarMatcher &matcher = space->walk.matcher;
  WorkMeter meter({.steps = maxMaskSteps});
  matcher.attach(this->grammar->grammar().tables(), family->stackEntries,
                 meter);
  matcher.start();
  hold(*space, 0);
}

GrammarState::GrammarState(const GrammarState &other)
    : grammar(other.grammar), family(other.family), items(other.items),
      ended(other.ended) {
  addReferences();
}

GrammarState::GrammarState(GrammarState &&other) noexcept
    : grammar(other.grammar), family(other.family),
      items(std::move(other.items)), ended(other.ended) {
  other.items.clear();
}

GrammarState &GrammarState::operator=(const GrammarState &other) {
  return *this = GrammarState(other);
}

GrammarState &GrammarState::operator=(GrammarState &&other) noexcept {
  std::swap(grammar, other.grammar);
  std::swap(family, other.family);
  std::swap(items, other.items);
  std::swap(ended, other.ended);
  return *this;
}

GrammarState::~GrammarState() { releaseItems(); }

void GrammarState::addReferences() const {
  std::lock_guard lock(family->mutex);
  for (const MatchItem &item : items)
    if (item.stackEntry != StackTable::none)
      family->stackEntries.addReference(item.stackEntry);
}

void GrammarState::releaseItems() {
  if (items.empty())
    return;
  std::lock_guard lock(family->mutex);
  for (const MatchItem &item : items)
    if (item.stackEntry != StackTable::none)
      family->stackEntries.release(item.stackEntry);
}

/// Makes the matcher's items from `begin` the items of this state. Entries that
/// the match has made move into the family's table. Called with its lock held.
void GrammarState::hold(Workspace &space, size_t begin) {
  const GrammarMatcher &matcher = space.walk.matcher;
  StackTable &stackEntries = family->stackEntries;
  space.toHold.clear();
  auto isOwn = [](uint32_t stackEntry) {
    return stackEntry != StackTable::none &&
           (stackEntry & GrammarMatcher::scratchBit);
  };
  // An entry is made after its parents, so in the order of numbers each entry
  // can be inserted after the entries below it.
  auto note = [&](uint32_t stackEntry) {
    if (isOwn(stackEntry))
      space.toHold.push_back(stackEntry);
  };
  for (size_t i = begin; i < matcher.items.size(); ++i)
    note(matcher.items[i].stackEntry);
  for (size_t i = 0; i < space.toHold.size(); ++i)
    matcher.forEachEdge(space.toHold[i],
                        [&](StackTable::Edge edge) { note(edge.parent); });
  std::sort(space.toHold.begin(), space.toHold.end());
  space.toHold.erase(std::unique(space.toHold.begin(), space.toHold.end()),
                     space.toHold.end());
  auto heldAs = [&](uint32_t stackEntry) {
    if (!isOwn(stackEntry))
      return stackEntry;
    auto at =
        std::lower_bound(space.toHold.begin(), space.toHold.end(), stackEntry);
    return space.heldAs[static_cast<size_t>(at - space.toHold.begin())];
  };
  space.heldAs.clear();
  for (uint32_t own : space.toHold) {
    space.edges.clear();
    matcher.forEachEdge(own, [&](StackTable::Edge edge) {
      space.edges.push_back({edge.state, heldAs(edge.parent)});
    });
    std::sort(space.edges.begin(), space.edges.end());
    for (StackTable::Edge edge : space.edges)
      if (edge.parent != StackTable::none)
        stackEntries.addReference(edge.parent);
    space.heldAs.push_back(stackEntries.insert(space.edges,
                                               StackTable::hashOf(space.edges),
                                               matcher.stackEntry(own).depth));
  }
  // References to new entries are added before those to old entries are
  // released.
  size_t before = items.size();
  for (size_t i = begin; i < matcher.items.size(); ++i) {
    MatchItem item = matcher.items[i];
    item.stackEntry = heldAs(item.stackEntry);
    if (item.stackEntry != StackTable::none)
      stackEntries.addReference(item.stackEntry);
    items.push_back(item);
  }
  for (size_t i = 0; i < before; ++i)
    if (items[i].stackEntry != StackTable::none)
      stackEntries.release(items[i].stackEntry);
  items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(before));
}

/// Matches the token's bytes; the items after it begin at `begin`. Called with
/// the family's lock held.
bool GrammarState::matchToken(TokenId token, GrammarMatcher &matcher,
                              WorkMeter &meter, size_t &begin) const {
  std::string_view bytes = grammar->trie().bytes(token);
  if (bytes.empty() || ended)
    return false;
  matcher.attach(grammar->grammar().tables(), family->stackEntries, meter);
  matcher.items.assign(items.begin(), items.end());
  begin = 0;
  for (char byte : bytes) {
    size_t end = matcher.items.size();
    if (matcher.step(begin, end, static_cast<uint8_t>(byte)) == 0 ||
        matcher.exhausted())
      return false;
    begin = end;
  }
  return true;
}

bool GrammarState::accepts(TokenId token) const {
  if (grammar->trie().isEndToken(token))
    return isComplete() && !ended;
  BorrowedWorkspace space;
  std::shared_lock lock(family->mutex);
  size_t begin;
  WorkMeter meter({.steps = maxMaskSteps});
  return matchToken(token, space->walk.matcher, meter, begin);
}

bool GrammarState::advance(TokenId token) {
  if (grammar->trie().isEndToken(token)) {
    if (!isComplete() || ended)
      return false;
    ended = true;
    return true;
  }
  BorrowedWorkspace space;
  std::lock_guard lock(family->mutex);
  size_t begin;
  WorkMeter meter({.steps = maxMaskSteps});
  if (!matchToken(token, space->walk.matcher, meter, begin))
    return false;
  hold(*space, begin);
  return true;
}

bool GrammarState::isComplete() const {
  return std::any_of(items.begin(), items.end(), [](const MatchItem &item) {
    return item.state == GrammarTables::textEnd;
  });
}

size_t GrammarState::readings() const { return items.size(); }

Status GrammarState::fillMask(std::span<uint64_t> bits) const {
  WorkMeter meter({.steps = maxMaskSteps});
  return fillMask(bits, meter);
}

Status GrammarState::fillMask(std::span<uint64_t> bits,
                              WorkMeter &meter) const {
  constexpr size_t wordsPerStep = 8;
  assert(bits.size() == grammar->maskWords());
  std::fill(bits.begin(), bits.end(), 0);
  if (ended)
    return failure("grammar: the text has ended, no token can follow");
  BorrowedWorkspace space;
  std::shared_lock lock(family->mutex);
  for (const MatchItem &item : items) {
    if (item.state == GrammarTables::textEnd) {
      setBits(bits, grammar->trie().endTokens());
      continue;
    }
    auto mask = grammar->maskOf({item.state, item.count}, meter);
    const StackTable::Slot &stackEntry =
        family->stackEntries.slot(item.stackEntry);
    uint32_t below = item.stackEntry;
    if (mask && (*mask)->returnCount > maxReturnNodes &&
        stackEntry.next == StackTable::none) {
      mask = grammar->maskOf({item.state, item.count, stackEntry.edge.state},
                             meter);
      below = stackEntry.edge.parent;
    }
    if (!mask)
      return mask.status();
    if (!meter.charge(1 + (*mask)->words.size() / wordsPerStep +
                      (*mask)->tokens.size()))
      return TokenGrammar::tooAmbiguous();
    for (size_t i = 0; i < (*mask)->words.size(); ++i)
      bits[i] |= (*mask)->words[i];
    setBits(bits, (*mask)->tokens);
    if ((*mask)->returnCount > 0 && below != StackTable::none)
      space->returning.push_back({mask.take(), below});
  }
  SLUICE_RETURN_IF_ERROR(addReturns(*space, bits, meter));
  if (std::all_of(bits.begin(), bits.end(), [](uint64_t w) { return w == 0; }))
    return failure("grammar: the vocabulary has no token that can come next");
  return {};
}

/// Adds the tokens that go on after the end of the rules whose masks are in the
/// workspace.
Status GrammarState::addReturns(Workspace &space, std::span<uint64_t> bits,
                                WorkMeter &meter) const {
  GrammarMatcher &matcher = space.walk.matcher;
  const TokenTrie &trie = grammar->trie();
  matcher.attach(grammar->grammar().tables(), family->stackEntries, meter);
  auto allow = [&](uint32_t first, uint32_t last, size_t, size_t) {
    setBits(bits, trie.tokensAt(first, last));
  };
  for (const ReturningMask &it : space.returning) {
    matcher.items.clear();
    matcher.returnFrom(it.stackEntry);
    if (std::all_of(matcher.items.begin(), matcher.items.end(),
                    [](const MatchItem &item) {
                      return item.state == GrammarTables::textEnd;
                    }))
      continue; // no byte can follow
    for (StateMask::Nodes nodes : it.mask->returns)
      for (uint32_t node = nodes.first; node < nodes.last; ++node)
        if (!meter.charge() || !space.walk.below(trie, node, allow))
          return TokenGrammar::tooAmbiguous();
  }
  return {};
}
