//===- HeadAdmission.cpp - admits requests and provides their pages -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/HeadState.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <array>

namespace sluice {

static int64_t knownTokens(const RequestSpec &spec) {
  return std::ssize(spec.prompt) + std::ssize(spec.generated);
}

Status Head::State::check(const RequestSpec &spec) const {
  if (spec.prompt.empty())
    return failure("request: the prompt is empty");
  int64_t known = knownTokens(spec);
  if (known > limits.contextLength)
    return failure("request: the prompt has ", known, " tokens, the context ",
                   limits.contextLength);
  if (int64_t pages = CachePages::pagesFor(known); pages > ledger.pages())
    return failure("request: the prompt's ", known, " tokens take ", pages,
                   " pages of the cache, which has ", ledger.pages());
  return checkFrame(spec);
}

/// Checks what every rank checks of a request's frame. A rank would end the
/// pipeline over it; here only the request fails.
Status Head::State::checkFrame(const RequestSpec &spec) const {
  for (const std::vector<int32_t> *tokens : {&spec.prompt, &spec.generated})
    for (int32_t token : *tokens)
      if (token < 0 || token >= limits.vocabSize)
        return failure("request: token ", token, " is not among the model's ",
                       limits.vocabSize);
  if (Status s = spec.sampling.validate(limits.vocabSize); !s.ok())
    return s.withContext("request");
  if (spec.logProbabilities < -1 || spec.logProbabilities > limits.vocabSize)
    return failure("request: ", spec.logProbabilities, " log-probabilities of ",
                   limits.vocabSize, " tokens");
  if (spec.scoresPrompt && spec.logProbabilities < 0)
    return failure("request: the prompt is to be scored, without "
                   "log-probabilities");
  if (size_t bytes = spec.grammar.text().size();
      bytes > GrammarSource::maxBytes)
    return failure("request: the grammar has ", bytes, " bytes, more than ",
                   GrammarSource::maxBytes);
  return {};
}

/// Returns the greatest length that the request's path can reach, in tokens.
int64_t Head::State::longestPath(const RequestSpec &spec) const {
  if (spec.maxTokens < 0)
    return limits.contextLength;
  return std::min(limits.contextLength,
                  std::ssize(spec.prompt) + spec.maxTokens);
}

/// Returns how many pinned pages the request may begin with. Rows whose results
/// are to be reported have to be computed, so their pages are not shared.
int64_t Head::State::maxPrefixPages(const RequestSpec &spec) {
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
bool Head::State::canGrow(const HeadRequest &request) const {
  return CachePages::pagesFor(longestPath(request.spec)) >
         CachePages::pagesFor(std::ssize(request.path));
}

/// Returns how many pages must stay free so that the running requests can grow:
/// one for each of them that can, since otherwise one of them would soon have
/// to be preempted. If the new request was preempted itself it is two for each,
/// or it would soon be preempted again.
int64_t Head::State::pagesToGrowInto(const RequestSpec &spec) const {
  int64_t growing =
      std::ranges::count_if(requests, [this](const HeadRequest &each) {
        return each.active && canGrow(each);
      });
  return growing * pagesEach(spec);
}

/// Returns the tokens that a request has when it opens. Valid until the next
/// call.
KnownText Head::State::knownOf(const RequestSpec &spec) {
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

std::optional<ComingPrefix> Head::State::comingPrefix(const RequestSpec &spec) {
  if (!ledger.sharesPrefixes())
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
      pinned = ledger.pinnedPages(text);
    if (*pinned >= max)
      return std::nullopt;
    // Many requests can share the pinned pages; few share the next page as
    // well.
    if (pagesAlike(each.path, tokens, *pinned, std::min(max, *pinned + 1)) == 0)
      continue;
    if (int64_t pages = pagesAlike(each.path, tokens, 0, max);
        pages > std::max(*pinned, longest.pages))
      longest = {.from = idOf(each),
                 .firstNode = each.firstNode,
                 .pages = pages,
                 .rest = CachePages::pagesFor(std::ssize(tokens)) - pages};
  }
  if (longest.pages == 0)
    return std::nullopt;
  return longest;
}

bool Head::State::await(const ComingPrefix &prefix) {
  HeadRequest &from = requests[static_cast<size_t>(prefix.from)];
  if (!from.active || from.firstNode != prefix.firstNode ||
      ledger.pinnedPages(prefix.from) >= prefix.pages)
    return false;
  int64_t rows = prefix.pages * CachePages::pageTokens;
  if (from.awaitedRows <= from.knownSent || rows < from.awaitedRows)
    from.awaitedRows = rows;
  return true;
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

/// Puts a request into a free slot. Returns false, and changes nothing, if
/// there are not enough pages beside `claimed` ones.
bool Head::State::admit(HeadRequest &request, RequestSpec &spec,
                        int64_t claimed) {
  RequestId id = idOf(request);
  const KnownText text = knownOf(spec);
  std::span<const int32_t> tokens = text.tokens;
  if (!ledger.open(id, text, pagesToGrowInto(spec) + claimed,
                   maxPrefixPages(spec)))
    return false;
  int64_t rows = std::ssize(tokens);
  request.active = true;
  request.firstNode = request.nextNode;
  request.emitted = std::ssize(spec.generated);
  request.epoch = 0;
  request.counters = {};
  request.lastPathEnd =
      request.path.empty() ? noNode : request.path.back().node;
  request.path.clear();
  request.path.reserve(static_cast<size_t>(std::max(rows, longestPath(spec))));
  for (int32_t token : tokens)
    request.path.push_back({request.nextNode++, token});
  request.spec = std::move(spec); // `tokens` refers to this memory
  PathEntry last = request.path.back();
  request.tree.reset(last.node, rows > 1 ? last.node - 1 : noNode,
                     static_cast<int32_t>(rows - 1), last.token);
  request.knownRows = rows;
  request.knownSent = ledger.prefixPages(id) * CachePages::pageTokens;
  request.awaitedRows = 0;
  request.openAtStages = false;
  request.lastCertain = last.node;
  request.launchDue = request.cancelDue = request.travelsAlone = false;
  request.guessSent = request.probeDue = false;
  request.burst = 0;
  request.openAtDraft = false;
  request.drafted = 0;
  request.levels = 0;
  request.outstanding = 0;
  ++active;
  addToPrefilling(request);
  return true;
}

void Head::State::addToPrefilling(const HeadRequest &request) {
  auto queuePriority = [this](RequestId each) {
    return requests[each].spec.queuePriority;
  };
  prefilling.insert(std::ranges::upper_bound(prefilling,
                                             request.spec.queuePriority, {},
                                             queuePriority),
                    idOf(request));
}

void Head::State::setQueuePriority(HeadRequest &request,
                                   const QueuePriority &queuePriority) {
  const bool isPrefilling = std::erase(prefilling, idOf(request)) > 0;
  request.spec.queuePriority = queuePriority;
  if (isPrefilling)
    addToPrefilling(request);
}

/// Pins the pages of prompts whose frames have passed all stages.
void Head::State::pinChunks() {
  auto gone = chunks.begin();
  for (; gone != chunks.end() && gone->step < framesGone; ++gone) {
    HeadRequest &request = requests[static_cast<size_t>(gone->request)];
    if (request.active && gone->last >= request.firstNode)
      pinPages(request, gone->end, gone->last);
  }
  chunks.erase(chunks.begin(), gone);
}

/// Pins the full pages of the request below position `computed`: all stages
/// have computed these rows, the last of which is `node`.
void Head::State::pinPages(HeadRequest &request, int64_t computed,
                           NodeId node) {
  // The ledger is asked only when a page has become full and at the prompt's
  // end.
  if (!ledger.sharesPrefixes() ||
      (computed % CachePages::pageTokens != 0 && !request.inPrompt()))
    return;
  RequestId id = idOf(request);
  std::array<int32_t, CachePages::pageTokens> page;
  for (int64_t pinned = ledger.pinnedPages(id);
       (pinned + 1) * CachePages::pageTokens <= computed; ++pinned) {
    for (size_t i = 0; i < page.size(); ++i)
      page[i] = request.path[pinned * CachePages::pageTokens + i].token;
    ledger.pin(id, page, node);
    chances += request.inPrompt();
  }
}

/// Provides a page for the last token of the request's path; if necessary it
/// preempts the running requests with the last queue priorities. Returns false
/// if that was this request itself.
bool Head::State::makeRoomFor(HeadRequest &request) {
  int64_t tokens = std::ssize(request.path);
  if (tokens % CachePages::pageTokens != 1)
    return true; // there is one already
  while (!ledger.grow(idOf(request), tokens)) {
    HeadRequest *last = lastInQueueOrder();
    preempt(*last);
    if (last == &request)
      return false;
  }
  // No page has to be left for a request that cannot grow any more.
  chances += !canGrow(request);
  return true;
}

bool Head::State::fitsWithout(const QueuePriority &queuePriority,
                              const RequestSpec &spec,
                              const HeadClaims &claims) {
  leaving.clear();
  int64_t staying = 0, spare = claims.pages;
  for (const HeadRequest &each : requests) {
    if (!each.active)
      continue;
    if (each.spec.queuePriority > queuePriority) {
      leaving.push_back(idOf(each));
      continue;
    }
    ++staying;
    spare += canGrow(each) ? pagesEach(spec) : 0;
  }
  return limits.requests - staying > claims.slots &&
         ledger.wouldOpen(knownOf(spec), spare, leaving, maxPrefixPages(spec));
}

/// Returns the running request with the last queue priority, or null.
HeadRequest *Head::State::lastInQueueOrder() {
  HeadRequest *last = nullptr;
  for (HeadRequest &each : requests)
    if (each.active &&
        (!last || each.spec.queuePriority > last->spec.queuePriority))
      last = &each;
  return last;
}

/// Takes a request out of the stages; it can be submitted again.
void Head::State::preempt(HeadRequest &request) {
  RequestSpec spec = std::move(request.spec);
  size_t prompt = spec.prompt.size();
  spec.generated.clear();
  for (size_t at = prompt; at < request.path.size(); ++at)
    spec.generated.push_back(request.path[at].token);
  release(request);
  commands.preempted.push_back(
      {idOf(request), std::move(spec), request.counters});
}

std::optional<ComingPrefix> Head::comingPrefix(const RequestSpec &spec) {
  return state->comingPrefix(spec);
}

bool Head::await(const ComingPrefix &prefix) { return state->await(prefix); }

int64_t Head::positionsSent(RequestId id) const {
  const HeadRequest &request = state->requests[static_cast<size_t>(id)];
  return request.inPrompt() ? request.knownSent : std::ssize(request.path);
}

void Head::setQueuePriority(RequestId id, const QueuePriority &queuePriority) {
  state->setQueuePriority(state->requests[static_cast<size_t>(id)],
                          queuePriority);
}

} // namespace sluice
