//===- ApiRequest.h - requests of the OpenAI API, checked -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and checks the JSON body of a request, and makes all that is needed to
// run it. Pure: uses only the random number that is passed in, and no clock
// except to limit the time for grammars. May take seconds at the limits
// (tokenizing, rendering, compiling a schema), so it must not run on a thread
// that others wait for.
//
//   RequestContext context = {model, random(), std::time(nullptr)};
//   ApiExpected<GenerationRequest> request = parseChatRequest(body, context);
//   if (!request)
//     ... answer request.error().status with request.error().json() ...
//   for (size_t i = 0; i < request->requests.size(); ++i)
//     engine.submit(request->requests[i], ...);
//
// Fields. The fields are OpenAI's, and those extensions of vLLM and llama.cpp
// that Parameters.h names. A field that is not supported and would change the
// answer is refused by name; harmless and unknown fields are ignored. null
// counts as a missing field. If a key occurs twice, its last value counts, as
// in JavaScript and Python.
//
// Seeds. The choices of a prompt (`n`) have the seeds seed, seed + 1, ...;
// without `seed`, they count from RequestContext::random. So a client can get
// choice i alone with seed + i.
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

/// The limits of a request; one that exceeds them is refused with 400.
struct RequestLimits {
  size_t bodyBytes = size_t(32) << 20;
  size_t depth = 64;               ///< nesting of objects and arrays
  size_t values = size_t(1) << 21; ///< JSON values
  /// The memory of the parsed JSON: at most `treeTimes` the size of its text,
  /// or `smallTreeBytes` if that is more.
  size_t treeTimes = 3;
  size_t smallTreeBytes = size_t(16) << 20;
  int64_t choices = 128;                   ///< `n`
  int64_t prompts = 1024;                  ///< of one request
  int64_t requests = 1024;                 ///< prompts times choices
  int64_t promptTokens = int64_t(1) << 23; ///< of all requests together
  /// Log-probabilities of prompts in one answer: for each token its own and
  /// those of `logprobs` others.
  int64_t promptLogprobs = int64_t(1) << 21;
  int64_t logprobs = 20;
  int64_t stops = 16;       ///< stop strings
  int64_t stopBytes = 1024; ///< of each
  int64_t stopTokens = 128; ///< stop_token_ids
  int64_t biases = 1024;    ///< logit_bias
  int64_t messages = 16384;
  int64_t tools = 128;
  /// The text of all grammars and schemas of a request together.
  size_t grammarBytes = GrammarSource::maxBytes;
  /// The work of compiling them.
  WorkMeter::Limits grammarWork = grammar::maxGrammarWork;
};

/// What a request is parsed with. `model` and `work` must outlive it.
struct RequestContext {
  const Model &model;
  /// A good random number, new for each request: seeds and ids come from it.
  uint64_t random = 0;
  /// The time for templates that show today's date.
  std::time_t now = 0;
  RequestLimits limits = {};
  /// Charged with the request's work that may take long: that of its grammars
  /// and of the chat template. If null, grammars have a meter of
  /// limits.grammarWork, and the template its own limits alone. Belongs to the
  /// caller, who can tell from it whether parsing ended for that reason.
  WorkMeter *work = nullptr;
  /// The scope in which compiled grammars are cached.
  uint64_t grammarScope = 0;
};

enum class Endpoint : uint8_t { Completions, Chat };

/// How the answer may call tools.
struct ToolUse {
  enum class Choice : uint8_t {
    None,     ///< text only
    Auto,     ///< as the model decides
    Required, ///< at least one call; a grammar forces it
    Named     ///< a call of a given function; a grammar forces it
  };
  Choice choice = Choice::None;
  const ToolSyntax *syntax = nullptr; ///< null for Choice::None
  bool parallel = true;               ///< false: at most one call
  std::vector<std::string> names;     ///< of the functions
  /// The function whose call the end of the prompt already begins; empty: none.
  std::string nameInPrompt;

  bool isForced() const {
    return choice == Choice::Required || choice == Choice::Named;
  }
};

/// A request to /v1/completions or /v1/chat/completions. Owns its data.
struct GenerationRequest {
  Endpoint endpoint = Endpoint::Completions;
  std::string model; ///< as in the request, or the model's first name

  /// The requests for the head: requests[p * choices + c] is choice c of prompt
  /// p, and has that index in the answer. Deadlines are not set.
  std::vector<ScheduledRequest> requests;
  int64_t choices = 1;
  int64_t promptTokens = 0; ///< of all prompts, each counted once

  bool stream = false;
  bool includeUsage = false; ///< whether a chunk with the usage ends the stream
  bool continuousUsage = false; ///< whether every chunk has the usage
  int64_t logprobs = -1;        ///< number besides the token's own; -1: none
  std::vector<std::string> stops;
  bool skipSpecial = true; ///< whether special tokens are left out of the text
  /// return_token_ids: whether the answer has the token ids of choices and
  /// prompts.
  bool tokenIds = false;
  /// [prompt]; empty without tokenIds.
  std::vector<std::vector<int32_t>> promptIds;
  /// [prompt]: the text in front of its answers; empty without `echo`.
  std::vector<std::string> echo;
  /// cache_salt: prompt prefixes are shared only among requests with the same
  /// salt. RequestSpec::prefixScope is not set.
  std::string cacheSalt;
  ToolUse tools;
  uint64_t random = 0; ///< RequestContext::random, for the ids of calls

  /// Returns about how many bytes the request holds until it ends, without its
  /// answers.
  int64_t heldBytes() const;
};

/// Parses a request. Fails, here and below, with 400 if the body is not JSON in
/// UTF-8, exceeds the limits, or has a field that is missing, of the wrong
/// type, out of range or not supported (`param` names it); with 404 and the
/// code model_not_found for another model; and with 400 and the code
/// context_length_exceeded.
ApiExpected<GenerationRequest>
parseCompletionRequest(std::string_view body, const RequestContext &context);

/// Also fails with 400 if the model has no chat template, or if the template
/// refuses the conversation.
ApiExpected<GenerationRequest> parseChatRequest(std::string_view body,
                                                const RequestContext &context);

/// A request to /v1/embeddings.
struct EmbeddingRequest {
  std::string model;
  std::vector<std::vector<int32_t>> inputs;
  int64_t promptTokens = 0;
  bool base64 = false; ///< encoding_format
};

/// Also fails with 400 if the model computes no embeddings.
ApiExpected<EmbeddingRequest>
parseEmbeddingRequest(std::string_view body, const RequestContext &context);

/// A request to /tokenize, in vLLM's form: `prompt` or `messages`.
struct TokenizeRequest {
  std::vector<int32_t> tokens; ///< the result
  bool tokenTexts = false;     ///< return_token_strs
};

/// Does not limit the tokens to the context's length.
ApiExpected<TokenizeRequest>
parseTokenizeRequest(std::string_view body, const RequestContext &context);

/// Parses a request to /detokenize and returns the text of its `tokens`.
ApiExpected<std::string> parseDetokenizeRequest(std::string_view body,
                                                const RequestContext &context);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_APIREQUEST_H
