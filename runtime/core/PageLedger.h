//===- PageLedger.h - who has how many pages of the cache -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head's account of the stages' caches: pages of requests, pages of
// prefixes that are pinned for requests to come (PrefixTree.h), and pages that
// are free. All stages have as many and use them alike, so that the head knows,
// before it sends a row, that there is a page for it: the stages never run out.
// (What guesses need, the stages have beside these.)
//
//   ledger.open(request, known)        admitted, with what is known already
//   ledger.grow(request, tokens)       one more row; false: somebody has to go
//   ledger.pin(request, page, node)   a page is full and computed
//   ledger.close(request)
//
// What is pinned gives way to requests. The stages hear of it by the next
// frame: takeOrders().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PAGELEDGER_H
#define SLUICE_RUNTIME_CORE_PAGELEDGER_H

#include "runtime/core/PrefixTree.h"

#include <limits>

namespace sluice {

/// What a request knows of its text, and who it may share pages with: requests
/// of the same scope.
struct KnownText {
  std::span<const int32_t> tokens;
  uint64_t scope = 0;

  KnownText(std::span<const int32_t> tokens, uint64_t scope = 0)
      : tokens(tokens), scope(scope) {}
  KnownText(const std::vector<int32_t> &tokens) : tokens(tokens) {}
};

/// Memory is taken by the constructor; no later call allocates but into the
/// caller's vectors. Thread-compatible.
class PageLedger {
public:
  struct Limits {
    int64_t pages = 0;    ///< of a stage, without those for guesses
    int64_t requests = 1; ///< open at the same time
    bool sharesPrefixes = true;
  };
  explicit PageLedger(const Limits &limits);

  /// No bound on the pages that a request may share when it opens.
  static constexpr int64_t anyPrefix = std::numeric_limits<int64_t>::max();

  /// Takes pages for the `known` text of a request that opens. Pages
  /// of the longest prefix that is pinned are shared, but for the last
  /// token's, whose row has to be computed, and `maxPrefix` of them at most.
  /// False, and then nothing has changed: there would not be `spare` pages left
  /// for others.
  bool open(RequestId request, KnownText known, int64_t spare,
            int64_t maxPrefix = anyPrefix);
  /// Whether it would be opened if these requests were closed.
  bool wouldOpen(KnownText known, int64_t spare,
                 std::span<const RequestId> closed,
                 int64_t maxPrefix = anyPrefix);
  /// Pages that the request shared when it opened.
  int64_t prefixPages(RequestId request) const;
  /// Fills `pages` with them, in order; it has prefixPages() entries.
  void prefixOf(RequestId request, std::span<SharedPage> pages) const;

  /// The request is `tokens` long. False, and then nothing has changed: there
  /// is no page left for it.
  bool grow(RequestId request, int64_t tokens);

  /// Full pages of the request that pin() has been told of, or that it shared.
  int64_t pinnedPages(RequestId request) const;
  /// Pages of the longest prefix of `known` that is pinned.
  int64_t pinnedPages(KnownText known) const;
  /// The request's next full page holds `page`, and all stages have computed
  /// it: `node` or one before it was its last row. It is pinned unless others
  /// have pinned the same.
  void pin(RequestId request, std::span<const int32_t> page, NodeId node);

  void close(RequestId request);

  /// Pages that the stages are to pin and to unpin since the last call;
  /// appended.
  void takeOrders(std::vector<PinPage> &pins, std::vector<SharedPage> &unpins);
  /// Whether one of these pages is among those that the request shared when it
  /// opened.
  bool beginsWithAny(RequestId request, std::span<const PinPage> pinned) const;

  bool sharesPrefixes() const { return limits.sharesPrefixes; }
  int64_t pages() const { return limits.pages; }
  /// Pages that nobody needs: free, or pinned and given up when asked for.
  int64_t available() const { return unused() + tree.evictable(); }
  /// Pages that are pinned, in use or not.
  int64_t pinned() const { return tree.size(); }
  /// Tokens of prompts that were looked up, and that were found.
  int64_t queriedTokens() const { return queried; }
  int64_t foundTokens() const { return found; }

private:
  struct Account {
    bool isOpen = false;
    int64_t tokens = 0;
    int64_t prefix = 0;                ///< pages shared at the start
    int64_t own = 0;                   ///< pages that are not the tree's
    SharedPage tip = PrefixTree::root; ///< the last node on the request's path
    uint64_t scope = 0;                ///< of its text
  };

  int64_t unused() const { return limits.pages - owned - tree.size(); }
  bool take(Account &account, int64_t pages);
  SharedPage findPrefix(KnownText known, int64_t max) const;

  Limits limits;
  PrefixTree tree;
  std::vector<Account> accounts; ///< [request]
  int64_t owned = 0;             ///< by requests, and not the tree's
  std::vector<PinPage> pins;     ///< to be ordered
  std::vector<SharedPage> unpins;
  int64_t queried = 0, found = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PAGELEDGER_H
