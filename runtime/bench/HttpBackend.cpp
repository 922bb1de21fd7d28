//===- HttpBackend.cpp - a backend for servers over HTTP ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/HttpBackend.h"

#include "runtime/base/OpenFiles.h"
#include "runtime/http/client/Client.h"
#include "runtime/http/client/SseParser.h"

#include <optional>
#include <unordered_map>

using namespace sluice;
using namespace sluice::bench;

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds modelsTimeout{10};
constexpr uint64_t maxModelsBytes = uint64_t{4} << 20;
constexpr size_t maxErrorBytes = size_t{64} << 10;

Time toTime(http::TimePoint at) { return at.time_since_epoch(); }

const char *kindName(http::FailureKind kind) {
  switch (kind) {
  case http::FailureKind::Connect:
    return "connect";
  case http::FailureKind::Timeout:
    return "timeout";
  case http::FailureKind::Closed:
    return "closed";
  case http::FailureKind::Malformed:
    return "malformed";
  case http::FailureKind::TooLarge:
    break;
  }
  return "too_large";
}

std::string statusError(int status, const std::string &reason,
                        std::string_view body) {
  std::string message = errorMessage(body);
  return "the server answers " + std::to_string(status) + " " + reason +
         (message.empty() ? "" : ": " + message);
}

class HttpBackend : public Backend {
public:
  HttpBackend(http::Client client, std::string path, const HttpOptions &options,
              const PromptShape &prompt, uint64_t workloadSeed)
      : client(std::move(client)), path(std::move(path)), options(options),
        prompt(prompt), workloadSeed(workloadSeed) {}

  Status askForModels();

  Time now() override { return toTime(steady_clock::now()); }
  void prepare(const BenchRequest &spec) override;
  void start(const BenchRequest &spec, Observer &observer) override;
  void abort(size_t index) override;
  void wait(Time until) override;

  /// Forgets a request with which the client is done.
  void forget(size_t index) { requests.erase(index); }
  BenchEndpoint endpoint() const { return options.api.endpoint; }

private:
  http::ClientRequest requestTo(std::string_view target) const;

  http::Client client;
  std::string path; ///< the URL's path before /v1
  HttpOptions options;
  PromptShape prompt;
  uint64_t workloadSeed;
  /// [index]: prepared bodies
  std::unordered_map<size_t, std::string> prepared;
  std::unordered_map<size_t, http::CallId> requests;
};

/// Handles the stream of one request.
class StreamHandler : public http::ResponseHandler {
public:
  StreamHandler(HttpBackend &backend, size_t index, Observer &observer)
      : backend(backend), index(index), observer(observer) {}

  void onHead(const http::ResponseHead &reported, http::TimePoint) override {
    status = reported.status;
    reason = reported.reason;
    isStream = reported.field("content-type").starts_with("text/event-stream");
  }
  void onBody(std::string_view piece, http::TimePoint at) override;
  void onEnd(http::TimePoint at) override;
  void onFailure(const http::Failure &failed, http::TimePoint at) override {
    end(at, kindName(failed.kind), failed.message);
  }

private:
  void takeEvent(std::string_view data, Time at);
  void end(http::TimePoint at, std::string kind, std::string error);
  void breakOff(http::TimePoint at, std::string kind, std::string error);

  HttpBackend &backend;
  size_t index;
  Observer &observer;
  int status = 0;
  std::string reason;
  bool isStream = false;
  bool finished = false; ///< there was a finish_reason
  bool over = false;     ///< the end was reported to the observer
  std::string body;      ///< of an error answer
  http::SseParser parser;
  Status malformed;
  std::string serverError;
  int64_t promptTokens = -1, outputTokens = -1;
};

/// Reports the end. The observer may then start another request with this
/// index, so the backend forgets this one first.
void StreamHandler::end(http::TimePoint at, std::string kind,
                        std::string error) {
  over = true;
  backend.forget(index);
  observer.onEnd(index, {.at = toTime(at),
                         .errorKind = std::move(kind),
                         .error = std::move(error),
                         .promptTokens = promptTokens,
                         .outputTokens = outputTokens});
}

/// Ends a request although its answer goes on.
void StreamHandler::breakOff(http::TimePoint at, std::string kind,
                             std::string error) {
  backend.abort(index);
  end(at, std::move(kind), std::move(error));
}

void StreamHandler::takeEvent(std::string_view data, Time at) {
  if (over || !malformed.ok() || !serverError.empty())
    return;
  if (data == "[DONE]") {
    finished = true;
    return;
  }
  Expected<StreamChunk> chunk = readChunk(data, backend.endpoint());
  if (!chunk) {
    malformed = chunk.status();
    return;
  }
  serverError = chunk->error;
  finished |= chunk->finished;
  if (chunk->promptTokens >= 0)
    promptTokens = chunk->promptTokens;
  if (chunk->outputTokens >= 0)
    outputTokens = chunk->outputTokens;
  if (chunk->hasOutput)
    observer.onTokens(index, at, 0);
}

void StreamHandler::onBody(std::string_view piece, http::TimePoint at) {
  if (status != 200) {
    body +=
        piece.substr(0, maxErrorBytes - std::min(maxErrorBytes, body.size()));
    return;
  }
  if (!isStream)
    return;
  Status fed = parser.feed(piece, [&](const http::SseEvent &event) {
    takeEvent(event.data, toTime(at));
  });
  if (malformed.ok())
    malformed = fed;
  if (!serverError.empty())
    breakOff(at, "server", "the server reports: " + serverError);
  else if (!malformed.ok())
    breakOff(at, "malformed", malformed.message());
}

void StreamHandler::onEnd(http::TimePoint at) {
  if (status != 200)
    end(at, "http_" + std::to_string(status),
        statusError(status, reason, body));
  else if (!isStream)
    end(at, "malformed", "the answer is not an event stream");
  else if (!finished)
    end(at, "closed", "the stream ended without a finish_reason");
  else
    end(at, "", "");
}

http::ClientRequest HttpBackend::requestTo(std::string_view target) const {
  http::ClientRequest request;
  request.target = path + std::string(target);
  if (!options.apiKey.empty())
    request.fields.emplace_back("Authorization", "Bearer " + options.apiKey);
  return request;
}

void HttpBackend::prepare(const BenchRequest &spec) {
  prepared[spec.index] = requestBody(options.api, prompt, spec, workloadSeed);
}

void HttpBackend::start(const BenchRequest &spec, Observer &observer) {
  if (!prepared.contains(spec.index))
    prepare(spec);
  http::ClientRequest request = requestTo(pathOf(options.api.endpoint));
  request.method = "POST";
  request.fields.emplace_back("Content-Type", "application/json");
  request.fields.emplace_back("Accept", "text/event-stream");
  request.body = std::move(prepared.extract(spec.index).mapped());
  // Cannot fail: askForModels() has used the same path and fields.
  requests[spec.index] = *client.start(
      request, std::make_unique<StreamHandler>(*this, spec.index, observer));
}

void HttpBackend::abort(size_t index) {
  auto found = requests.find(index);
  if (found == requests.end())
    return;
  client.abort(found->second);
  requests.erase(found);
}

void HttpBackend::wait(Time until) { client.run(http::TimePoint(until)); }

/// Stores a whole answer.
class AnswerHandler : public http::ResponseHandler {
public:
  struct Answer {
    int status = 0;
    std::string reason, body;
    bool over = false;
    Status failed;
  };

  explicit AnswerHandler(Answer &answer) : answer(answer) {}

  void onHead(const http::ResponseHead &reported, http::TimePoint) override {
    answer.status = reported.status;
    answer.reason = reported.reason;
  }
  void onBody(std::string_view piece, http::TimePoint) override {
    answer.body += piece;
  }
  void onEnd(http::TimePoint) override { answer.over = true; }
  void onFailure(const http::Failure &reported, http::TimePoint) override {
    answer.over = true;
    answer.failed = Status::error(reported.message);
  }

private:
  Answer &answer;
};

/// Finds out the model's name and the size of its vocabulary.
Status HttpBackend::askForModels() {
  http::ClientRequest request = requestTo("/v1/models");
  request.timeout = modelsTimeout;
  request.maxBodyBytes = maxModelsBytes;
  AnswerHandler::Answer answer;
  Expected<http::CallId> id =
      client.start(request, std::make_unique<AnswerHandler>(answer));
  if (!id)
    return id.status();
  while (!answer.over)
    client.run(steady_clock::now() + modelsTimeout);
  if (!answer.failed.ok())
    return answer.failed;
  Expected<ModelEntry> model =
      answer.status == 200
          ? readModels(answer.body)
          : failure(statusError(answer.status, answer.reason, answer.body));
  if (!model && options.api.model.empty())
    return failure(options.url, path, "/v1/models: ", model.status().message(),
                   "; name the model");
  if (options.api.model.empty())
    options.api.model = model->id;
  if (prompt.vocabularySize == 0 && model)
    prompt.vocabularySize = model->vocabularySize;
  if (prompt.vocabularySize == 0)
    prompt.vocabularySize = assumedVocabularySize;
  return {};
}

} // namespace

Expected<std::unique_ptr<Backend>>
bench::makeHttpBackend(const HttpOptions &options, const PromptShape &prompt,
                       uint64_t workloadSeed) {
  Expected<http::Url> url = http::parseUrl(options.url);
  if (!url)
    return url.status();
  std::string path = url->target;
  if (path.find('?') != std::string::npos)
    return failure("'", options.url, "' is not a server's URL: it has a query");
  // Accepts both http://host and the http://host/v1 that OpenAI's clients use.
  if (path.ends_with('/'))
    path.pop_back();
  if (path.ends_with("/v1"))
    path.resize(path.size() - 3);
  raiseOpenFileLimit();
  Expected<http::Client> client =
      http::Client::create(*url, {.caFile = options.caFile});
  if (!client)
    return client.status();
  auto backend = std::make_unique<HttpBackend>(client.take(), path, options,
                                               prompt, workloadSeed);
  SLUICE_RETURN_IF_ERROR(backend->askForModels());
  return std::unique_ptr<Backend>(std::move(backend));
}
