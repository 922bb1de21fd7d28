//===- HeadRequest.cpp - a request in the head's table --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/HeadRequest.h"

namespace sluice {

void HeadRequest::begin(RequestSpec &&wanted, std::span<const int32_t> tokens,
                        int64_t sharedRows, int64_t maxLength) {
  int64_t rows = std::ssize(tokens);
  active = true;
  firstNode = nextNode;
  emitted = std::ssize(wanted.generated);
  epoch = 0;
  counters = {};
  lastPathEnd = path.empty() ? noNode : path.back().node;
  path.clear();
  path.reserve(static_cast<size_t>(std::max(rows, maxLength)));
  for (int32_t token : tokens)
    path.push_back({nextNode++, token});
  spec = std::move(wanted); // `tokens` may refer to this memory
  PathEntry last = path.back();
  tree.reset(last.node, rows > 1 ? last.node - 1 : noNode,
             static_cast<int32_t>(rows - 1), last.token);
  knownRows = rows;
  knownSent = sharedRows;
  awaitedRows = 0;
  openAtStages = openAtDraft = false;
  lastCertain = last.node;
  launchDue = cancelDue = travelsAlone = false;
  guessSent = probeDue = false;
  burst = drafted = levels = outstanding = 0;
}

Row HeadRequest::row(const GuessNode &node, bool certain) const {
  return {.node = node.node,
          .parent = node.parent,
          .request = id,
          .position = node.position,
          .token = node.token,
          .certain = certain,
          .wantsOutput = true};
}

OpenRequest HeadRequest::opening() const {
  OpenRequest open;
  open.request = id;
  open.firstNode = firstNode;
  open.promptTokens = static_cast<int32_t>(spec.prompt.size());
  open.knownTokens = static_cast<int32_t>(knownRows);
  open.logProbabilities = spec.logProbabilities;
  open.sampling = spec.sampling;
  open.grammar = spec.grammar;
  open.tenant = spec.tenant;
  if (spec.unscored() > 0)
    open.scored = spec.prompt;
  return open;
}

} // namespace sluice
