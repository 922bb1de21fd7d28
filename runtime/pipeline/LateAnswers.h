//===- LateAnswers.h - rows whose tokens are chosen later -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps rows that have been computed but whose grammar masks are not made yet,
// with everything that their tokens are chosen by, while further steps are
// executed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H
#define SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H

#include "runtime/core/Rows.h"
#include "runtime/pipeline/GrammarMasks.h"

#include <deque>
#include <span>

namespace sluice::pipeline {

/// The data by which a row's token is chosen.
struct TokenChoice {
  Row row;
  std::span<const float> logits;
  std::span<const int32_t> prompt;
  std::span<const int32_t> output; ///< up to and including the row's token
  SamplingParams sampling;
  int32_t logProbabilities = -1; ///< as in OpenRequest
};

/// Owned and used by the stage's thread.
class LateAnswers {
public:
  /// Keeps the choice, with a copy of everything that it refers to.
  void keep(const TokenChoice &choice, std::shared_ptr<RowMask> mask);

  /// Returns whether an answer of the request is late. Later answers of the
  /// request must then wait, because a request's answers come in the order of
  /// its rows.
  bool has(RequestId request) const;
  bool empty() const { return kept.empty(); }

  /// Waits until all masks are made.
  void waitForAll(GrammarMasks &masks) const;

  /// Drops the answers of requests that have closed.
  void drop(std::span<const RequestId> requests);

  /// Calls `answer(choice, mask)` for the answers whose masks are made, and
  /// removes them.
  template <typename Fn> void takeReady(GrammarMasks &masks, Fn answer) {
    std::deque<Late> ready = splitReady(masks);
    for (const Late &late : ready)
      answer(late.choice, *late.mask);
  }

private:
  struct Late {
    TokenChoice choice; ///< refers to the vectors below
    std::shared_ptr<RowMask> mask;
    std::vector<float> logits;
    std::vector<int32_t> prompt, output;
  };

  std::deque<Late> splitReady(GrammarMasks &masks);

  std::deque<Late> kept; ///< answers of a request in the order of its rows
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_LATEANSWERS_H
