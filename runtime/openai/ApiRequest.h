//===- ApiRequest.h - requests of the OpenAI API, checked -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the JSON of a request's body to all that is needed to run it. Pure: no
// randomness but what is passed in, and no clock but for the time that grammars
// may take. May take long (tokenizing, rendering, compiling a schema: seconds
// at the limits), so not for a thread that others wait for.
//
//   RequestContext context = {model, random(), std::time(nullptr)};
//   ApiExpected<GenerationRequest> request = parseChatRequest(body, context);
//   if (!request)
//     ... answer request.error().status with request.error().json() ...
//   for (size_t i = 0; i < request->requests.size(); ++i)
//     engine.submit(request->requests[i], ...);
//
// Fields. OpenAI's, and of vLLM's and llama.cpp's extensions those that are
// named in Parameters.h. A field that would change the answer and is not
// supported is refused by name; what does no harm, and what nobody knows, is
// left out of account. null is the same as a field that is not there. A key
// that is there twice counts with its last value, as in JavaScript and Python.
//
// Choices of a prompt (`n`) have the seeds seed, seed + 1, ...; without `seed`
// they count from RequestContext::random. So an answer of choice i can be had
// alone with seed + i.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_APIREQUEST_H
#define SLUICE_RUNTIME_OPENAI_APIREQUEST_H

#include "runtime/core/Scheduler.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/openai/ApiError.h"
#include "runtime/openai/Model.h"

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::openai {

/// What a request may hold, at most; more is a 400 that says so.
struct RequestLimits {
  size_t bodyBytes = size_t(32) << 20;
  size_t depth = 64;               ///< of objects and arrays in each other
  size_t values = size_t(1) << 21; ///< JSON values
  /// What they may take in memory: so many times their text, or so many bytes
  /// where that is more.
  size_t treeTimes = 3;
  size_t smallTreeBytes = size_t(16) << 20;
  int64_t choices = 128;                   ///< `n`
  int64_t prompts = 1024;                  ///< of one request
  int64_t requests = 1024;                 ///< prompts times choices
  int64_t promptTokens = int64_t(1) << 23; ///< of all requests together
  /// Log-probabilities of prompts in one answer: of each token its own and
  /// `logprobs` more.
  int64_t promptLogprobs = int64_t(1) << 21;
  int64_t logprobs = 20;
  int64_t stops = 16;       ///< stop strings
  int64_t stopBytes = 1024; ///< of each
  int64_t stopTokens = 128; ///< stop_token_ids
  int64_t biases = 1024;    ///< logit_bias
  int64_t messages = 16384;
  int64_t tools = 128;
  /// Of all grammars and schemas of a request together.
  size_t grammarBytes = GrammarSource::maxBytes;
  /// To make grammars of these.
  WorkMeter::Limits grammarWork = grammar::maxGrammarWork;
};

/// What a request is read with. `model` and `work` outlive it.
struct RequestContext {
  const Model &model;
  /// From a good source, new for each request: seeds and ids come from it.
  uint64_t random = 0;
  /// For templates that show today's date.
  std::time_t now = 0;
  RequestLimits limits = {};
  /// What the work that a request can make long charges, which is that of its
  /// grammars; null: a meter of limits.grammarWork. Belongs to the caller, who
  /// sees by it whether that has ended the reading.
  WorkMeter *work = nullptr;
};

enum class Endpoint : uint8_t { Completions, Chat };

/// Calls of tools in the answer.
struct ToolUse {
  enum class Choice : uint8_t {
    None,     ///< text only
    Auto,     ///< as the model likes
    Required, ///< at least one; the grammar forces it
    Named     ///< one of a certain function; likewise
  };
  Choice choice = Choice::None;
  const ToolSyntax *syntax = nullptr; ///< null with None
  bool parallel = true;               ///< false: one call at most
  std::vector<std::string> names;     ///< of the functions
  /// The function that the prompt's end calls already; empty: none.
  std::string nameInPrompt;

  bool isForced() const {
    return choice == Choice::Required || choice == Choice::Named;
  }
};

/// A request to /v1/completions or /v1/chat/completions. Owns what it has.
struct GenerationRequest {
  Endpoint endpoint = Endpoint::Completions;
  std::string model; ///< as the request names it, or its first name

  /// What the head is asked for: requests[p * choices + c] is choice c of
  /// prompt p, and has that index in the answer. Deadlines are not set.
  std::vector<ScheduledRequest> requests;
  int64_t choices = 1;
  int64_t promptTokens = 0; ///< of all prompts, each counted once

  bool stream = false;
  bool includeUsage = false;    ///< a chunk with the usage at the end
  bool continuousUsage = false; ///< usage in every chunk
  int64_t logprobs = -1;        ///< how many besides the token's own; -1: none
  std::vector<std::string> stops;
  bool skipSpecial = true; ///< special tokens make no text
  /// return_token_ids: the answer has the ids of its tokens and of the
  /// prompts'.
  bool tokenIds = false;
  /// Of each prompt; empty without tokenIds.
  std::vector<std::vector<int32_t>> promptIds;
  /// Of each prompt, what goes in front of its answers; empty without `echo`.
  std::vector<std::string> echo;
  /// cache_salt: prefixes of prompts are shared among requests that have the
  /// same. RequestSpec::prefixScope is not set.
  std::string cacheSalt;
  ToolUse tools;
  uint64_t random = 0; ///< RequestContext::random, for ids of calls
};

/// Errors, here and below: 400 for a body that is not JSON in UTF-8, is beyond
/// the limits, or has a field that is missing, of the wrong type, out of range
/// or not supported (`param` names it); 404 with the code model_not_found for
/// another model; 400 with the code context_length_exceeded.
ApiExpected<GenerationRequest>
parseCompletionRequest(std::string_view body, const RequestContext &context);

/// Also: 400 for a model without a chat template, and for a conversation that
/// the template refuses.
ApiExpected<GenerationRequest> parseChatRequest(std::string_view body,
                                                const RequestContext &context);

/// A request to /v1/embeddings.
struct EmbeddingRequest {
  std::string model;
  std::vector<std::vector<int32_t>> inputs;
  int64_t promptTokens = 0;
  bool base64 = false; ///< encoding_format
};

/// Also: 400 for a model without embeddings.
ApiExpected<EmbeddingRequest>
parseEmbeddingRequest(std::string_view body, const RequestContext &context);

/// A request to /tokenize, in vLLM's form: `prompt` or `messages`.
struct TokenizeRequest {
  std::vector<int32_t> tokens; ///< done already
  bool tokenTexts = false;     ///< return_token_strs
};

/// The context's length is no limit here.
ApiExpected<TokenizeRequest>
parseTokenizeRequest(std::string_view body, const RequestContext &context);

/// A request to /detokenize: the text of its `tokens`.
ApiExpected<std::string> parseDetokenizeRequest(std::string_view body,
                                                const RequestContext &context);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_APIREQUEST_H
