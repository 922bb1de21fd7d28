//===- PageLedger.h - the head's account of cache pages -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps the head's account of the stages' caches: pages of requests, pages of
// prefixes that are pinned for later requests (PrefixTree.h), and free pages.
// All stages have the same number of pages and use them alike. So the head
// knows before it sends a row that there is a page for it, and the stages never
// run out. The stages have further pages for guesses.
//
//   ledger.open(request, known)       admit a request with its known tokens
//   ledger.grow(request, tokens)      one more row; false: preempt a request
//   ledger.pin(request, page, node)   a page is full and computed
//   ledger.close(request)
//
// Pinned pages that no request uses are evicted when a request needs their
// room. The next frame tells the stages: takeOrders().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PAGELEDGER_H
#define SLUICE_RUNTIME_CORE_PAGELEDGER_H

#include "runtime/core/PrefixTree.h"

#include <limits>

namespace sluice {

/// The known tokens of a request, and the scope in which it may share pages:
/// only requests of the same scope share.
struct KnownText {
  std::span<const int32_t> tokens;
  uint64_t scope = 0;

  KnownText(std::span<const int32_t> tokens, uint64_t scope = 0)
      : tokens(tokens), scope(scope) {}
  KnownText(const std::vector<int32_t> &tokens) : tokens(tokens) {}
};

/// The constructor allocates all memory; later calls allocate only in the
/// vectors of the caller. Thread-compatible.
class PageLedger {
public:
  struct Limits {
    int64_t pages = 0;    ///< of each stage, without those for guesses
    int64_t requests = 1; ///< requests open at the same time
    bool sharesPrefixes = true;
  };
  explicit PageLedger(const Limits &limits);

  /// No limit on the pages that a request may share when it opens.
  static constexpr int64_t anyPrefix = std::numeric_limits<int64_t>::max();

  /// Takes pages for the known tokens of a request that opens. It shares the
  /// pages of the longest pinned prefix, at most `maxPrefix` of them and not
  /// the page of the last token, whose row has to be computed. Returns false,
  /// and changes nothing, if fewer than `spare` pages would remain for others.
  bool open(RequestId request, KnownText known, int64_t spare,
            int64_t maxPrefix = anyPrefix);
  /// Returns whether open() would succeed if the requests `closed` were closed.
  bool wouldOpen(KnownText known, int64_t spare,
                 std::span<const RequestId> closed,
                 int64_t maxPrefix = anyPrefix);
  /// Returns how many pages the request shared when it opened.
  int64_t prefixPages(RequestId request) const;
  /// Fills `pages`, which has prefixPages() entries, with these pages in order.
  void prefixOf(RequestId request, std::span<SharedPage> pages) const;

  /// Makes the request `tokens` long. Returns false, and changes nothing, if no
  /// page is left for it.
  bool grow(RequestId request, int64_t tokens);

  /// Returns how many full pages the request has shared when it opened or
  /// passed to pin() since.
  int64_t pinnedPages(RequestId request) const;
  /// Returns how many pages the longest pinned prefix of `known` has.
  int64_t pinnedPages(KnownText known) const;
  /// Pins the request's next full page, which holds the tokens `page`. All
  /// stages must have computed `node`, which is the row of the page's last
  /// token or a later row of the path. If another request has pinned an equal
  /// page, no second page is pinned.
  void pin(RequestId request, std::span<const int32_t> page, NodeId node);

  void close(RequestId request);

  /// Appends the pages that the stages must pin and unpin since the last call.
  void takeOrders(std::vector<PinPage> &pins, std::vector<SharedPage> &unpins);
  /// Returns whether the request shared one of these pages when it opened.
  bool beginsWithAny(RequestId request, std::span<const PinPage> pinned) const;

  bool sharesPrefixes() const { return limits.sharesPrefixes; }
  int64_t pages() const { return limits.pages; }
  /// Returns how many pages no request needs: free ones, and pinned ones that
  /// would be evicted.
  int64_t available() const { return unused() + tree.evictable(); }
  /// Returns how many pages are pinned, in use or not.
  int64_t pinned() const { return tree.size(); }
  /// How many tokens of prompts were looked up, and how many were found
  /// pinned.
  int64_t queriedTokens() const { return queried; }
  int64_t foundTokens() const { return found; }

private:
  struct Account {
    bool isOpen = false;
    int64_t tokens = 0;
    int64_t prefix = 0;                ///< pages shared when it opened
    int64_t own = 0;                   ///< pages that are not in the tree
    SharedPage tip = PrefixTree::root; ///< the last node on the request's path
    uint64_t scope = 0;                ///< the scope of its text
  };

  int64_t unused() const { return limits.pages - owned - tree.size(); }
  bool take(Account &account, int64_t pages);
  SharedPage findPrefix(KnownText known, int64_t max) const;

  Limits limits;
  PrefixTree tree;
  std::vector<Account> accounts; ///< [request]
  int64_t owned = 0;             ///< pages of requests that are not in the tree
  std::vector<PinPage> pins;     ///< orders for the next frame
  std::vector<SharedPage> unpins;
  int64_t queried = 0, found = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PAGELEDGER_H
