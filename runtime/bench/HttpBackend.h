//===- HttpBackend.h - sends requests to a server over HTTP ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kinds of errors: `connect`, `timeout`, `closed` (before the answer's end, or
// a stream without a finish_reason), `malformed` (not HTTP, not an event
// stream, not JSON), `too_large`, `http_NNN` (a status other than 200),
// `server` (an error within a stream).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_HTTPBACKEND_H
#define SLUICE_RUNTIME_BENCH_HTTPBACKEND_H

#include "runtime/bench/Backend.h"
#include "runtime/bench/CompletionsApi.h"

#include <memory>

namespace sluice::bench {

struct HttpOptions {
  std::string url; ///< the server's; /v1/... is added
  std::string apiKey;
  std::string caFile; ///< see http::ClientOptions
  ApiOptions api;     ///< model "": the server's first
};

/// Token ids go up to this where neither options nor server say how many there
/// are: models with fewer are rare.
inline constexpr int64_t assumedVocabularySize = 1000;

/// Asks the server for its models, so that a wrong address is noticed before a
/// run; waits at most 10 s for the answer. Raises the process's limit of open
/// files as far as it may. Errors: an unusable URL or key, no connection;
/// without api.model also an answer that names no model.
Expected<std::unique_ptr<Backend>> makeHttpBackend(const HttpOptions &options,
                                                   const PromptShape &prompt,
                                                   uint64_t workloadSeed);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_HTTPBACKEND_H
