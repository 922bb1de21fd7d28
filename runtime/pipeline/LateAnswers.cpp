//===- LateAnswers.cpp - rows whose tokens are chosen later ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/LateAnswers.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

void LateAnswers::keep(const TokenChoice &choice,
                       std::shared_ptr<RowMask> mask) {
  auto copy = [](auto &to, auto from) { to.assign(from.begin(), from.end()); };
  Late &late = kept.emplace_back();
  late.mask = std::move(mask);
  copy(late.logits, choice.logits);
  copy(late.prompt, choice.prompt);
  copy(late.output, choice.output);
  late.choice = choice;
  late.choice.logits = late.logits;
  late.choice.prompt = late.prompt;
  late.choice.output = late.output;
}

bool LateAnswers::has(RequestId request) const {
  return std::ranges::any_of(kept, [request](const Late &late) {
    return late.choice.row.request == request;
  });
}

void LateAnswers::waitForAll(GrammarMasks &masks) const {
  for (const Late &late : kept)
    masks.waitFor(*late.mask);
}

void LateAnswers::drop(std::span<const RequestId> requests) {
  std::erase_if(kept, [requests](const Late &late) {
    return std::ranges::find(requests, late.choice.row.request) !=
           requests.end();
  });
}

/// Removes and returns the answers whose masks are made, except those after an
/// answer of the same request whose mask is not.
std::deque<LateAnswers::Late> LateAnswers::splitReady(GrammarMasks &masks) {
  std::deque<Late> all = std::exchange(kept, {}), ready;
  for (Late &late : all) {
    bool mayGo = !has(late.choice.row.request) && masks.isMade(*late.mask);
    (mayGo ? ready : kept).push_back(std::move(late));
  }
  return ready;
}
