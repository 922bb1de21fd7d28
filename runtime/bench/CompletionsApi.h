//===- CompletionsApi.h - the OpenAI API, as a client sees it -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests to /v1/completions and /v1/chat/completions, and what their streams
// say. Pure.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H
#define SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H

#include "runtime/bench/RandomPrompt.h"

#include <string>
#include <string_view>

namespace sluice::bench {

enum class BenchEndpoint : uint8_t { Completions, Chat };

/// The path behind a server's own: "/v1/completions".
std::string_view pathOf(BenchEndpoint endpoint);

/// What all requests of a run have in common.
struct ApiOptions {
  BenchEndpoint endpoint = BenchEndpoint::Completions;
  std::string model;
  double temperature = 0;
};

/// The JSON to send: streamed, with usage at the end, exactly
/// spec.outputTokens tokens (max_tokens and ignore_eos), the request's seed. A
/// chat's prompt is one message, as text.
std::string requestBody(const ApiOptions &api, const PromptShape &prompt,
                        const BenchRequest &spec, uint64_t workloadSeed);

/// What one event of a stream says.
struct StreamChunk {
  /// It carries output: text that is not empty, or, of completions, text that
  /// is empty before the request has finished, since a token can have no text
  /// of its own. The first chunk of a chat, which names the role, carries none.
  bool hasOutput = false;
  bool finished = false;                        ///< it has a finish_reason
  int64_t promptTokens = -1, outputTokens = -1; ///< of usage; -1: not given
  std::string error;                            ///< of an `error` member
};

/// Reads an event's data, which is not [DONE]. Errors: not a JSON object.
Expected<StreamChunk> readChunk(std::string_view data, BenchEndpoint endpoint);

/// The message in an error answer's body: the `error` member's, or what else of
/// it is there, at most 200 bytes; "" for an empty body.
std::string errorMessage(std::string_view body);

/// What /v1/models says of the first model.
struct ModelEntry {
  std::string id;
  int64_t vocabularySize = 0; ///< `meta.n_vocab`, as llama.cpp has it; 0: none
};

/// Errors: not JSON, no model in it.
Expected<ModelEntry> readModels(std::string_view body);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_COMPLETIONSAPI_H
