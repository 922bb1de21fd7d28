//===- BatchMates.cpp - other requests in every step ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/BatchMates.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

using pipeline::RequestEvent;
using pipeline::TokenQueue;

BatchMates::BatchMates(pipeline::InlinePipeline &pipeline, int64_t count,
                       int64_t vocabSize, int64_t contextLength)
    : pipeline(pipeline), vocabSize(vocabSize), contextLength(contextLength),
      queues(size_t(count)) {
  for (size_t mate = 0; mate < (queues.size() + 1) / 2; ++mate)
    submit(mate);
  // The first turn computes the first request alone.
  for (int turn = 0; count > 0 && turn < 2; ++turn)
    pipeline.turn();
}

/// Submits a request whose prompt and length differ from those before it.
void BatchMates::submit(size_t mate) {
  const int64_t number = submitted++;
  RequestSpec spec;
  spec.tenant = tenant;
  const int64_t prompt = std::min(1 + number % 3, contextLength);
  for (int64_t i = 0; i < prompt; ++i)
    spec.prompt.push_back(
        int32_t((uint64_t(number) * 2654435761u + uint64_t(i) * 97) %
                uint64_t(vocabSize)));
  spec.maxTokens = mate == 0 ? -1 : 2 + number % 7;
  queues[mate] = std::make_shared<TokenQueue>();
  pipeline.head().submit({.spec = std::move(spec)}, queues[mate]);
}

void BatchMates::renew() {
  for (size_t mate = 0; mate < queues.size(); ++mate) {
    bool ended = !queues[mate];
    while (!ended) {
      std::optional<RequestEvent> event = queues[mate]->poll();
      if (!event)
        break;
      ended = std::holds_alternative<RequestEnd>(*event);
    }
    if (ended)
      submit(mate);
  }
}
