//===- HttpBackend.h - a backend for servers over HTTP --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends a benchmark's requests to a server. The kinds of errors are `connect`,
// `timeout`, `closed` (before the answer's end, or a stream without a
// finish_reason), `malformed` (not HTTP, not an event stream, not JSON),
// `too_large`, `http_NNN` (a status other than 200), and `server` (an error
// within a stream).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_HTTPBACKEND_H
#define SLUICE_RUNTIME_BENCH_HTTPBACKEND_H

#include "runtime/bench/Backend.h"
#include "runtime/bench/CompletionsApi.h"

#include <memory>

namespace sluice::bench {

struct HttpOptions {
  std::string url; ///< of the server; /v1/... is appended
  std::string apiKey;
  std::string caFile; ///< see http::ClientOptions
  ApiOptions api;     ///< model "": the server's first model
};

/// Token ids lie below this if neither options nor server give a vocabulary
/// size: models with fewer tokens are rare.
inline constexpr int64_t assumedVocabularySize = 1000;

/// Makes the backend. Asks the server for its models, so that a wrong address
/// is noticed before a run, and waits for the answer for at most 10 s. Raises
/// the process's limit of open files. Fails if the URL or the key is unusable
/// or there is no connection; without api.model also if the answer names no
/// model.
Expected<std::unique_ptr<Backend>> makeHttpBackend(const HttpOptions &options,
                                                   const PromptShape &prompt,
                                                   uint64_t workloadSeed);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_HTTPBACKEND_H
