//===- RequestPages.cpp - admission by cache pages, and their growth ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/RequestPages.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <array>

namespace sluice {

RequestPages::RequestPages(const HeadLimits &limits, RequestTable &requests)
    : requests(requests), slots(limits.requests),
      contextLength(limits.contextLength),
      pages({limits.pages, limits.requests, limits.sharesPrefixes}) {
  leaving.reserve(static_cast<size_t>(limits.requests));
}

/// Returns the greatest length that the request's path can reach, in tokens.
int64_t RequestPages::longestPath(const RequestSpec &spec) const {
  if (spec.maxTokens < 0)
    return contextLength;
  return std::min(contextLength, std::ssize(spec.prompt) + spec.maxTokens);
}

/// Returns how many pinned pages the request may begin with. Rows whose results
/// are to be reported have to be computed, so their pages are not shared.
static int64_t maxPrefixPages(const RequestSpec &spec) {
  if (spec.unscored() == 0)
    return PageLedger::anyPrefix;
  return std::max<int64_t>(0, spec.scored - 1) / CachePages::pageTokens;
}

/// The number of pages that must stay free for each growing request if this
/// request is admitted; see pagesToGrowInto().
static int64_t pagesEach(const RequestSpec &spec) {
  return spec.generated.empty() ? 1 : 2;
}

/// Returns whether the request can need more pages than it has.
bool RequestPages::canGrow(const HeadRequest &request) const {
  return CachePages::pagesFor(longestPath(request.spec)) >
         CachePages::pagesFor(std::ssize(request.path));
}

/// Returns how many pages must stay free so that the running requests can grow:
/// one for each of them that can, since otherwise one of them would soon have
/// to be preempted. If the new request was preempted itself it is two for each,
/// or it would soon be preempted again.
int64_t RequestPages::pagesToGrowInto(const RequestSpec &spec) const {
  int64_t growing =
      std::ranges::count_if(requests, [this](const HeadRequest &each) {
        return each.active && canGrow(each);
      });
  return growing * pagesEach(spec);
}

/// Returns the tokens that a request has when it opens. Valid until the next
/// call.
KnownText RequestPages::knownOf(const RequestSpec &spec) {
  if (spec.generated.empty())
    return {spec.prompt, spec.prefixScope};
  known.assign(spec.prompt.begin(), spec.prompt.end());
  known.insert(known.end(), spec.generated.begin(), spec.generated.end());
  return {known, spec.prefixScope};
}

//===----------------------------------------------------------------------===//
// Prefixes that are being computed
//===----------------------------------------------------------------------===//

/// Returns how many whole pages `path` and `tokens` have in common from page
/// `from` on and before page `end`.
static int64_t pagesAlike(std::span<const PathEntry> path,
                          std::span<const int32_t> tokens, int64_t from,
                          int64_t end) {
  constexpr int64_t pageTokens = CachePages::pageTokens;
  end = std::min(end, std::ssize(path) / pageTokens);
  if (end <= from)
    return 0;
  auto first = path.begin() + from * pageTokens;
  auto differ = std::mismatch(first, path.begin() + end * pageTokens,
                              tokens.begin() + from * pageTokens,
                              [](const PathEntry &entry, int32_t token) {
                                return entry.token == token;
                              });
  return (differ.first - first) / pageTokens;
}

std::optional<ComingPrefix>
RequestPages::comingPrefix(const RequestSpec &spec) {
  if (!pages.sharesPrefixes())
    return std::nullopt;
  const KnownText text = knownOf(spec);
  std::span<const int32_t> tokens = text.tokens;
  // The row of the last token has to be computed in any case.
  int64_t max = std::min((std::ssize(tokens) - 1) / CachePages::pageTokens,
                         maxPrefixPages(spec));
  std::optional<int64_t>
      pinned; // looked up when a request with an equal prefix is found
  ComingPrefix longest;
  for (const HeadRequest &each : requests) {
    if (!each.active || !each.inPrompt() ||
        each.spec.queuePriority > spec.queuePriority ||
        each.spec.prefixScope != spec.prefixScope ||
        pagesAlike(each.path, tokens, 0, std::min<int64_t>(max, 1)) == 0)
      continue;
    if (!pinned)
      pinned = pages.pinnedPages(text);
    if (*pinned >= max)
      return std::nullopt;
    // Many requests can share the pinned pages; few share the next page as
    // well.
    if (pagesAlike(each.path, tokens, *pinned, std::min(max, *pinned + 1)) == 0)
      continue;
    if (int64_t pages = pagesAlike(each.path, tokens, 0, max);
        pages > std::max(*pinned, longest.pages))
      longest = {.from = each.id,
                 .firstNode = each.firstNode,
                 .pages = pages,
                 .rest = CachePages::pagesFor(std::ssize(tokens)) - pages};
  }
  if (longest.pages == 0)
    return std::nullopt;
  return longest;
}

bool RequestPages::await(const ComingPrefix &prefix) {
  HeadRequest &from = requests[prefix.from];
  if (!from.active || from.firstNode != prefix.firstNode ||
      pages.pinnedPages(prefix.from) >= prefix.pages)
    return false;
  int64_t rows = prefix.pages * CachePages::pageTokens;
  if (from.awaitedRows <= from.knownSent || rows < from.awaitedRows)
    from.awaitedRows = rows;
  return true;
}

//===----------------------------------------------------------------------===//
// Opening, growing and closing
//===----------------------------------------------------------------------===//

bool RequestPages::open(HeadRequest &request, RequestSpec &spec,
                        int64_t claimed) {
  const KnownText text = knownOf(spec);
  if (!pages.open(request.id, text, pagesToGrowInto(spec) + claimed,
                  maxPrefixPages(spec)))
    return false;
  int64_t shared = pages.prefixPages(request.id) * CachePages::pageTokens;
  int64_t longest = longestPath(spec);
  request.begin(std::move(spec), text.tokens, shared, longest);
  return true;
}

bool RequestPages::fitsWithout(const QueuePriority &queuePriority,
                               const RequestSpec &spec,
                               const HeadClaims &claims) {
  leaving.clear();
  int64_t staying = 0, spare = claims.pages;
  for (const HeadRequest &each : requests) {
    if (!each.active)
      continue;
    if (each.spec.queuePriority > queuePriority) {
      leaving.push_back(each.id);
      continue;
    }
    ++staying;
    spare += canGrow(each) ? pagesEach(spec) : 0;
  }
  return slots - staying > claims.slots &&
         pages.wouldOpen(knownOf(spec), spare, leaving, maxPrefixPages(spec));
}

bool RequestPages::grow(HeadRequest &request) {
  int64_t tokens = std::ssize(request.path);
  if (tokens % CachePages::pageTokens != 1)
    return true; // there is one already
  if (!pages.grow(request.id, tokens))
    return false;
  // No page has to be left for a request that cannot grow any more.
  admissible += !canGrow(request);
  return true;
}

void RequestPages::close(const HeadRequest &request) {
  pages.close(request.id);
  ++admissible;
}

//===----------------------------------------------------------------------===//
// Pinning
//===----------------------------------------------------------------------===//

void RequestPages::noteChunk(const HeadRequest &request, uint64_t step,
                             NodeId last) {
  if (pages.sharesPrefixes())
    chunks.push_back({.step = step,
                      .request = request.id,
                      .last = last,
                      .end = request.knownSent});
}

void RequestPages::pinChunks(uint64_t framesGone) {
  auto gone = chunks.begin();
  for (; gone != chunks.end() && gone->step < framesGone; ++gone) {
    const HeadRequest &request = requests[gone->request];
    if (request.active && gone->last >= request.firstNode)
      pin(request, gone->end, gone->last);
  }
  chunks.erase(chunks.begin(), gone);
}

void RequestPages::pin(const HeadRequest &request, int64_t computed,
                       NodeId node) {
  // The ledger is asked only when a page has become full and at the prompt's
  // end.
  if (!pages.sharesPrefixes() ||
      (computed % CachePages::pageTokens != 0 && !request.inPrompt()))
    return;
  const RequestId id = request.id;
  std::array<int32_t, CachePages::pageTokens> page;
  for (int64_t pinned = pages.pinnedPages(id);
       (pinned + 1) * CachePages::pageTokens <= computed; ++pinned) {
    for (size_t i = 0; i < page.size(); ++i)
      page[i] = request.path[pinned * CachePages::pageTokens + i].token;
    pages.pin(id, page, node);
    admissible += request.inPrompt();
  }
}

} // namespace sluice
