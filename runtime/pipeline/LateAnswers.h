//===- LateAnswers.h - rows whose tokens are chosen later -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that have been computed, and whose masks are not made yet: what their
// tokens are chosen by is kept here, while steps go on without them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H
#define SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H

#include "runtime/core/Rows.h"
#include "runtime/pipeline/GrammarMasks.h"

#include <deque>
#include <span>

namespace sluice::pipeline {

/// What a row's token is chosen by.
struct TokenChoice {
  Row row;
  std::span<const float> logits;
  std::span<const int32_t> prompt;
  std::span<const int32_t> output; ///< up to the row
  SamplingParams sampling;
  int32_t logProbabilities = -1; ///< as OpenRequest
};

/// Belongs to the stage's thread.
class LateAnswers {
public:
  /// Keeps a copy of all that the choice refers to.
  void keep(const TokenChoice &choice, std::shared_ptr<RowMask> mask);

  /// Whether an answer of the request is late: those behind it have to wait, as
  /// a request's answers come in the order of its rows.
  bool has(RequestId request) const;
  bool empty() const { return kept.empty(); }

  /// Waits until all masks are made.
  void waitForAll(GrammarMasks &masks) const;

  /// Nobody waits for those of these requests any more.
  void drop(std::span<const RequestId> requests);

  /// Calls `answer(choice, mask)` for those whose masks are made, and forgets
  /// them.
  template <typename Fn> void takeReady(GrammarMasks &masks, Fn answer) {
    std::deque<Late> ready = splitReady(masks);
    for (const Late &late : ready)
      answer(late.choice, *late.mask);
  }

private:
  struct Late {
    TokenChoice choice; ///< refers to what follows
    std::shared_ptr<RowMask> mask;
    std::vector<float> logits;
    std::vector<int32_t> prompt, output;
  };

  std::deque<Late> splitReady(GrammarMasks &masks);

  std::deque<Late> kept; ///< of a request in the order of its rows
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H
