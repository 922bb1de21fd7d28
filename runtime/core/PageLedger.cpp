//===- PageLedger.cpp - the head's account of cache pages -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PageLedger.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <cassert>

namespace sluice {

PageLedger::PageLedger(const Limits &limits)
    : limits(limits), tree(limits.sharesPrefixes ? limits.pages : 0),
      accounts(static_cast<size_t>(limits.requests)) {
  size_t orders = static_cast<size_t>(limits.sharesPrefixes ? limits.pages : 0);
  pins.reserve(orders);
  unpins.reserve(orders);
}

/// Takes free pages, and evicts pinned ones where these do not suffice.
bool PageLedger::take(Account &account, int64_t pages) {
  if (pages > available())
    return false;
  while (unused() < pages) {
    SharedPage gone = *tree.evict();
    // The stages need not hear of a page whose pin order has not left yet.
    auto order = std::ranges::find(pins, gone, &PinPage::page);
    if (order != pins.end())
      pins.erase(order);
    else
      unpins.push_back(gone);
  }
  owned += pages;
  account.own += pages;
  return true;
}

/// Returns the last of the shared pages that a request would begin with.
SharedPage PageLedger::findPrefix(KnownText known, int64_t max) const {
  int64_t whole = (std::ssize(known.tokens) - 1) / CachePages::pageTokens;
  return tree.find(known.tokens, std::min(whole, max), known.scope);
}

bool PageLedger::open(RequestId request, KnownText known, int64_t spare,
                      int64_t maxPrefix) {
  Account &account = accounts[request];
  assert(!account.isOpen && !known.tokens.empty());
  account = {};
  account.scope = known.scope;
  int64_t tokens = std::ssize(known.tokens);
  account.tip = findPrefix(known, maxPrefix);
  account.prefix = tree.depth(account.tip);
  tree.pin(account.tip);
  int64_t needed = CachePages::pagesFor(tokens) - account.prefix;
  if (needed + spare > available() || !take(account, needed)) {
    tree.unpin(account.tip);
    return false;
  }
  account.isOpen = true;
  account.tokens = tokens;
  queried += tokens;
  found += account.prefix * CachePages::pageTokens;
  return true;
}

bool PageLedger::wouldOpen(KnownText known, int64_t spare,
                           std::span<const RequestId> closed,
                           int64_t maxPrefix) {
  // Unpinning makes the pages that only these requests hold evictable for a
  // moment. The order of the other evictable pages does not change.
  int64_t tokens = std::ssize(known.tokens);
  SharedPage tip = findPrefix(known, maxPrefix);
  tree.pin(tip);
  int64_t freed = 0;
  for (RequestId each : closed) {
    freed += accounts[each].own;
    tree.unpin(accounts[each].tip);
  }
  bool fits = CachePages::pagesFor(tokens) - tree.depth(tip) + spare <=
              available() + freed;
  for (RequestId each : closed)
    tree.pin(accounts[each].tip);
  tree.unpin(tip);
  return fits;
}

int64_t PageLedger::prefixPages(RequestId request) const {
  return accounts[request].prefix;
}

void PageLedger::prefixOf(RequestId request,
                          std::span<SharedPage> pages) const {
  assert(tree.depth(accounts[request].tip) == accounts[request].prefix &&
         "asked for before anything of the request was pinned");
  tree.pathTo(accounts[request].tip, pages);
}

bool PageLedger::grow(RequestId request, int64_t tokens) {
  Account &account = accounts[request];
  assert(account.isOpen && tokens >= account.tokens);
  int64_t more =
      CachePages::pagesFor(tokens) - CachePages::pagesFor(account.tokens);
  if (more > 0 && !take(account, more))
    return false;
  account.tokens = tokens;
  return true;
}

int64_t PageLedger::pinnedPages(RequestId request) const {
  return tree.depth(accounts[request].tip);
}

int64_t PageLedger::pinnedPages(KnownText known) const {
  return tree.depth(
      tree.find(known.tokens, std::ssize(known.tokens), known.scope));
}

void PageLedger::pin(RequestId request, std::span<const int32_t> page,
                     NodeId node) {
  if (!limits.sharesPrefixes)
    return;
  Account &account = accounts[request];
  int64_t index = tree.depth(account.tip);
  assert(index < CachePages::pagesFor(account.tokens) &&
         "the request has no such page");
  PrefixTree::Insertion added = tree.insert(account.tip, page, account.scope);
  tree.pin(added.node);
  tree.unpin(account.tip);
  account.tip = added.node;
  if (!added.isNew)
    return;
  --account.own;
  --owned;
  pins.push_back({.request = request,
                  .node = node,
                  .index = static_cast<int32_t>(index),
                  .page = added.node});
}

void PageLedger::close(RequestId request) {
  Account &account = accounts[request];
  assert(account.isOpen);
  tree.unpin(account.tip);
  owned -= account.own;
  account = {};
}

void PageLedger::takeOrders(std::vector<PinPage> &pinsOut,
                            std::vector<SharedPage> &unpinsOut) {
  // Reserves for one page of each request, as if all generated in one step, so
  // that a frame needs no more memory in the steps after its first one.
  pinsOut.reserve(pinsOut.size() + accounts.size());
  unpinsOut.reserve(unpinsOut.size() + accounts.size());
  pinsOut.insert(pinsOut.end(), pins.begin(), pins.end());
  unpinsOut.insert(unpinsOut.end(), unpins.begin(), unpins.end());
  pins.clear();
  unpins.clear();
}

bool PageLedger::beginsWithAny(RequestId request,
                               std::span<const PinPage> pinned) const {
  if (pinned.empty())
    return false;
  for (SharedPage at = accounts[request].tip; at != PrefixTree::root;
       at = tree.parent(at))
    if (std::ranges::find(pinned, at, &PinPage::page) != pinned.end())
      return true;
  return false;
}

} // namespace sluice
