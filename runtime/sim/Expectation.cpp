//===- Expectation.cpp - the expected outcome of requests -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Expectation.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

/// Returns how many tokens the request may have if its text is not stopped.
static int64_t tokenLimit(const RequestSpec &spec, int64_t context) {
  // The last token need not fit the context, because nothing follows it.
  int64_t room = context - static_cast<int64_t>(spec.prompt.size()) + 1;
  return spec.maxTokens < 0 ? room : std::min(spec.maxTokens, room);
}

Status Expectation::check(const SimRequest &request,
                          const RequestOutcome &outcome) const {
  if (outcome.finishes != 1)
    return failure("ended ", outcome.finishes, " times");
  PathKey path = target.begin(request.asked.spec.prompt);
  const std::vector<int32_t> &stops = request.asked.spec.stopTokens;
  int64_t limit = tokenLimit(request.asked.spec, contextLength);
  auto isStop = [&](int32_t token) {
    return std::find(stops.begin(), stops.end(), token) != stops.end();
  };
  auto count = static_cast<int64_t>(outcome.tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    int32_t wanted = target.next(path, i);
    if (outcome.tokens[i] != wanted || isStop(wanted))
      return failure("token ", i, " is ", outcome.tokens[i], ", not ", wanted,
                     isStop(wanted) ? ", where it stops" : "");
    path.add(wanted);
  }
  if (count > limit)
    return failure(count, " tokens, of ", limit, " at most");
  if ((request.cancelled && outcome.reason == FinishReason::Cancelled) ||
      (request.asked.deadline && outcome.reason == FinishReason::Timeout) ||
      (brokeOff && outcome.reason == FinishReason::Error))
    return {};
  bool stopped = count < limit && isStop(target.next(path, count));
  FinishReason wanted = stopped ? FinishReason::Stop : FinishReason::Length;
  if (outcome.reason != wanted || (!stopped && count < limit))
    return failure("ended as ", finishReasonName(outcome.reason), " after ",
                   count, " tokens of ", limit);
  return {};
}
