//===- RequestPages.h - admission by cache pages, and their growth --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_REQUESTPAGES_H
#define SLUICE_RUNTIME_CORE_HEAD_REQUESTPAGES_H

#include "runtime/core/Admission.h"
#include "runtime/core/PageLedger.h"
#include "runtime/core/head/RequestTable.h"

namespace sluice {

/// Decides whether the cache has room for a request, provides the pages of the
/// running ones, and pins the pages of prompts once all stages have computed
/// them. Thread-compatible.
class RequestPages {
public:
  RequestPages(const HeadLimits &limits, RequestTable &requests);

  PageLedger &ledger() { return pages; }
  const PageLedger &ledger() const { return pages; }
  /// Counts the events after which a request that was not admitted may be
  /// admissible; see Head::chances().
  uint64_t chances() const { return admissible; }

  /// As Head::comingPrefix() and Head::await().
  std::optional<ComingPrefix> comingPrefix(const RequestSpec &spec);
  bool await(const ComingPrefix &prefix);

  /// Puts a request into a free slot. Returns false, and changes nothing, if
  /// there are not enough pages beside `claimed` ones.
  bool open(HeadRequest &request, RequestSpec &spec, int64_t claimed);
  /// Returns whether open() would succeed if all running requests with a queue
  /// priority later than `queuePriority` were preempted, and enough slots would
  /// be free.
  bool fitsWithout(const QueuePriority &queuePriority, const RequestSpec &spec,
                   const HeadClaims &claims);
  /// Provides a page for the last token of the request's path. Returns false if
  /// there is none.
  bool grow(HeadRequest &request);
  /// Frees the pages of a request that leaves its slot.
  void close(const HeadRequest &request);

  /// Notes that rows of a prompt have left in the head's frame number `step`;
  /// `last` is the last of them. pinChunks() pins their pages.
  void noteChunk(const HeadRequest &request, uint64_t step, NodeId last);
  /// Pins the pages of prompts whose rows were in the head's first `framesGone`
  /// frames: these have passed all stages.
  void pinChunks(uint64_t framesGone);
  /// Pins the full pages of the request below position `computed`: all stages
  /// have computed these rows, the last of which is `node`.
  void pin(const HeadRequest &request, int64_t computed, NodeId node);

private:
  /// Prompt rows in a frame, without rows that end their prompt.
  struct PromptChunk {
    uint64_t step = 0;
    RequestId request = 0;
    NodeId last = noNode;
    int64_t end = 0; ///< the position after the last row
  };

  int64_t longestPath(const RequestSpec &spec) const;
  bool canGrow(const HeadRequest &request) const;
  int64_t pagesToGrowInto(const RequestSpec &spec) const;
  KnownText knownOf(const RequestSpec &spec);

  RequestTable &requests;
  int64_t slots, contextLength;
  PageLedger pages;
  std::vector<PromptChunk> chunks; ///< under way, the oldest first
  uint64_t admissible = 0;
  std::vector<int32_t> known;     ///< scratch memory of knownOf()
  std::vector<RequestId> leaving; ///< scratch memory of fitsWithout()
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_REQUESTPAGES_H
