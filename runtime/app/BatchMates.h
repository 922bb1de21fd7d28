//===- BatchMates.h - other requests in every step ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds other requests to each step, to show that a row's result does not depend
// on the other rows. They have tokens of their own, and half of them come
// before the request of interest and half after it. The first goes on as long
// as the context has room; the others end and begin again at different times,
// so that the number of their rows changes from step to step.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_BATCHMATES_H
#define SLUICE_RUNTIME_APP_BATCHMATES_H

#include "runtime/pipeline/InlinePipeline.h"
#include "runtime/pipeline/TokenQueue.h"

#include <memory>
#include <vector>

namespace sluice::app {

/// Not thread-safe.
class BatchMates {
public:
  /// The tenant of the batch mates' requests.
  static constexpr TenantNumber tenant = 1;

  /// Submits the first half of the requests, at least one of them, and has them
  /// computed up to their first tokens, so that the next request meets them in
  /// its first step. `pipeline` must outlive the result.
  BatchMates(pipeline::InlinePipeline &pipeline, int64_t count,
             int64_t vocabSize, int64_t contextLength);

  /// Submits the requests that have not been submitted yet and those that have
  /// ended. Must be called before every step.
  void renew();

private:
  void submit(size_t mate);

  pipeline::InlinePipeline &pipeline;
  int64_t vocabSize, contextLength;
  /// Of each batch mate; null before its first request.
  std::vector<std::shared_ptr<pipeline::TokenQueue>> queues;
  int64_t submitted = 0;
};

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_BATCHMATES_H
