//===- CompletionsApi.h - the OpenAI API from a client's view -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes requests to /v1/completions and /v1/chat/completions, and parses the
// events of their streams. Pure.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H
#define SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H

#include "runtime/bench/RandomPrompt.h"

#include <string>
#include <string_view>

namespace sluice::bench {

enum class BenchEndpoint : uint8_t { Completions, Chat };

/// Returns the path that is appended to a server's: "/v1/completions".
std::string_view pathOf(BenchEndpoint endpoint);

/// The options that all requests of a run share.
struct ApiOptions {
  BenchEndpoint endpoint = BenchEndpoint::Completions;
  std::string model;
  double temperature = 0;
};

/// Returns the JSON body of a request: it streams, asks for the usage at the
/// end, for exactly spec.outputTokens tokens (max_tokens and ignore_eos), and
/// for the request's seed. The prompt of a chat is one message of text.
std::string requestBody(const ApiOptions &api, const PromptShape &prompt,
                        const BenchRequest &spec, uint64_t workloadSeed);

/// The content of one event of a stream.
struct StreamChunk {
  /// Whether the event has output: text that is not empty, or for completions
  /// also empty text before the request has finished, because a token may have
  /// no text of its own. The first chunk of a chat, which names the role, has
  /// none.
  bool hasOutput = false;
  bool finished = false; ///< whether it has a finish_reason
  int64_t promptTokens = -1, outputTokens = -1; ///< from usage; -1: not given
  std::string error;                            ///< from an `error` member
};

/// Parses the data of an event other than [DONE]. Fails if it is not a JSON
/// object.
Expected<StreamChunk> readChunk(std::string_view data, BenchEndpoint endpoint);

/// Returns the message of an error answer's body: that of the `error` member,
/// or else the body itself, at most 200 bytes; "" for an empty body.
std::string errorMessage(std::string_view body);

/// The first model in the answer of /v1/models.
struct ModelEntry {
  std::string id;
  int64_t vocabularySize = 0; ///< `meta.n_vocab`, as in llama.cpp; 0: not given
};

/// Fails if the body is not JSON or names no model.
Expected<ModelEntry> readModels(std::string_view body);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H
