//===- HeadAdmission.cpp - admits requests, and sees to their pages -------===//
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

/// What every rank checks of a request's frame, and takes for the end of the
/// pipeline where it is wrong. Here it is the end of the request alone.
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

/// Tokens that a request can come to.
int64_t Head::State::longestPath(const RequestSpec &spec) const {
  if (spec.maxTokens < 0)
    return limits.contextLength;
  return std::min(limits.contextLength,
                  std::ssize(spec.prompt) + spec.maxTokens);
}

/// Pages that a request can begin with at most, if they are pinned: rows whose
/// results are to be reported are computed.
int64_t Head::State::maxPrefixPages(const RequestSpec &spec) {
  if (spec.unscored() == 0)
    return PageLedger::anyPrefix;
  return std::max<int64_t>(0, spec.scored - 1) / CachePages::pageTokens;
}

/// Pages to be left for each that can grow where this request is admitted.
static int64_t pagesEach(const RequestSpec &spec) {
  return spec.generated.empty() ? 1 : 2;
}

/// Whether it can come to more pages than it has.
bool Head::State::canGrow(const HeadRequest &request) const {
  return CachePages::pagesFor(longestPath(request.spec)) >
         CachePages::pagesFor(std::ssize(request.path));
}

/// A page for each request that can grow beyond those that it has: where a new
/// one would take them, one of them would soon have to be preempted. Two, where
/// the new one was preempted itself: it would soon be again.
int64_t Head::State::pagesToGrowInto(const RequestSpec &spec) const {
  int64_t growing =
      std::ranges::count_if(requests, [this](const HeadRequest &each) {
        return each.active && canGrow(each);
      });
  return growing * pagesEach(spec);
}

/// The tokens that a request has when it opens. Valid until the next call.
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

/// Whole pages from page `from` on that `path` and `tokens` have in common.
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
  // The last token's row is computed in any case.
  int64_t max = std::min((std::ssize(tokens) - 1) / CachePages::pageTokens,
                         maxPrefixPages(spec));
  std::optional<int64_t> pinned; // looked up where somebody begins alike
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
    // Many can share what is pinned, and few the next page.
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

/// Puts a request into a free slot; false where there are not enough pages
/// beside `claimed` ones, and then nothing has changed.
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
  request.spec = std::move(spec); // `tokens` are its
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

/// All rows of the request below position `computed`, of which `node` is the
/// last, have been computed by all stages: full pages of them are pinned.
void Head::State::pinPages(HeadRequest &request, int64_t computed,
                           NodeId node) {
  // Looked up only where a page has become full, and at the prompt's end.
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

/// Sees that there is a page for the last token of the request's path, if need
/// be at the expense of the request whose queue priority is last. False: that
/// was this one itself.
bool Head::State::makeRoomFor(HeadRequest &request) {
  int64_t tokens = std::ssize(request.path);
  if (tokens % CachePages::pageTokens != 1)
    return true; // it has one
  while (!ledger.grow(idOf(request), tokens)) {
    HeadRequest *last = lastInQueueOrder();
    preempt(*last);
    if (last == &request)
      return false;
  }
  // Nothing is left for it to grow into any more.
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

/// Of the requests that run, the one whose queue priority is last, or null.
HeadRequest *Head::State::lastInQueueOrder() {
  HeadRequest *last = nullptr;
  for (HeadRequest &each : requests)
    if (each.active &&
        (!last || each.spec.queuePriority > last->spec.queuePriority))
      last = &each;
  return last;
}

/// Takes a request off the stages; it can be submitted again.
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

void Head::setQueuePriority(RequestId id, const QueuePriority &queuePriority) {
  state->setQueuePriority(state->requests[static_cast<size_t>(id)],
                          queuePriority);
}

} // namespace sluice
