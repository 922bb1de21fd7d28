//===- Generate.cpp - generation of text from prompts ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "RunPipeline.h"
#include "runtime/app/GenerationJson.h"
#include "runtime/base/StandardOutput.h"

using namespace sluice;
using namespace sluice::run;

using pipeline::InlinePipeline;

namespace {

/// One request, from its prompt to its text.
struct Request {
  Request(app::Generator generator, TenantNumber number,
          InlinePipeline &pipeline)
      : generator(std::move(generator)), spec(this->generator.request()),
        stream(pipeline.head(), spec, [&pipeline] { pipeline.turn(); }) {
    spec.tenant = number;
  }

  app::Generator generator;
  RequestSpec spec; ///< its tenant is the request's number
  app::TokenStream stream;
  std::optional<app::Generation> result; ///< once the text has ended
  std::string text; ///< or token ids, if the model has no tokenizer
};

/// Runs all requests of the command line.
class Generation {
public:
  Generation(RunSession &session, const RunOptions &options)
      : session(session), options(options) {
    generate.predict = options.predict;
    generate.sampling = options.sampling;
    generate.ignoreEos = options.ignoreEos;
    generate.stopStrings = options.stopStrings;
    generate.lastLogits = options.logits;
  }

  Status run(app::StreamClock::time_point start);

private:
  Status addRequest(size_t number, app::StreamClock::time_point start);
  Status takeArrived(Request &request);
  void writeJson(text::JsonWriter &json, const Request &request) const;
  std::string print() const;

  RunSession &session;
  const RunOptions &options;
  app::GenerateOptions generate;
  std::unique_ptr<InlinePipeline> pipeline;
  std::vector<std::unique_ptr<Request>> requests;
};

} // namespace

/// Reads a prompt and submits it.
Status Generation::addRequest(size_t number,
                              app::StreamClock::time_point start) {
  Expected<std::vector<int32_t>> prompt = session.readPrompt(options, number);
  if (!prompt)
    return prompt.status();
  const interpreter::ModelInfo &info = session.interpreter().info();
  const app::TextModel model = {session.vocabSize(),
                                {info.eosTokens.begin(), info.eosTokens.end()},
                                session.tokenizer()};
  Expected<app::Generator> generator =
      app::Generator::create(model, generate, start);
  if (!generator)
    return generator.status();
  SLUICE_RETURN_IF_ERROR(
      generator->fitBehind(std::ssize(*prompt), session.contextLength()));
  requests.push_back(std::make_unique<Request>(
      generator.take(), static_cast<TenantNumber>(number), *pipeline));
  Request &added = *requests.back();
  added.generator.start(*prompt, added.stream);
  return {};
}

/// Takes what has come of a request, which has not ended.
Status Generation::takeArrived(Request &request) {
  // The text of a single request is written while it is generated.
  const bool streams = requests.size() == 1 && !options.json;
  auto write = [&](int32_t token, std::string_view certain) {
    std::string piece = session.tokenizer() ? std::string(certain)
                                            : std::to_string(token) + " ";
    request.text += piece;
    return streams ? writeOutput(piece) : Status();
  };
  Expected<bool> ended = request.generator.takeArrived(request.stream, write);
  if (!ended)
    return ended.status();
  if (!*ended)
    return {};
  Expected<app::Generation> result =
      request.generator.finish(request.stream, write);
  if (!result)
    return result.status();
  request.result = result.take();
  std::span<const float> logits = pipeline->promptLogits(request.spec.tenant);
  request.result->lastLogits.assign(logits.begin(), logits.end());
  return {};
}

void Generation::writeJson(text::JsonWriter &json,
                           const Request &request) const {
  app::writeGeneration(json, *request.result, generate,
                       session.tokenizer() ? &request.result->text : nullptr);
}

std::string Generation::print() const {
  text::JsonWriter json;
  if (options.json && requests.size() == 1) {
    json.beginObject();
    writeJson(json, *requests.front());
    json.endObject();
    return json.text();
  }
  if (options.json) {
    json.beginObject();
    json.key("requests").beginArray();
    for (const std::unique_ptr<Request> &request : requests) {
      json.beginObject();
      writeJson(json, *request);
      json.endObject();
    }
    json.endArray();
    const pipeline::StageReport report = pipeline->report();
    json.key("steps").number(static_cast<int64_t>(report.steps));
    json.key("rows").number(static_cast<int64_t>(report.rows));
    json.endObject();
    return json.text();
  }
  std::string text;
  for (size_t i = 0; requests.size() > 1 && i < requests.size(); ++i)
    text += (i ? "\n" : "") + requests[i]->text;
  return text;
}

Status Generation::run(app::StreamClock::time_point start) {
  Expected<std::unique_ptr<InlinePipeline>> made =
      makePipeline(session, options, std::ssize(options.prompts));
  if (!made)
    return made.status();
  pipeline = made.take();
  for (size_t i = 0; i < options.prompts.size(); ++i)
    SLUICE_RETURN_IF_ERROR(addRequest(i, start));
  auto isRunning = [](const std::unique_ptr<Request> &request) {
    return !request->result;
  };
  while (llvm::any_of(requests, isRunning)) {
    pipeline->turn();
    for (std::unique_ptr<Request> &request : requests)
      if (isRunning(request))
        SLUICE_RETURN_IF_ERROR(takeArrived(*request));
  }
  return writeOutput(print() + "\n");
}

Status sluice::run::generate(RunSession &session, const RunOptions &options,
                             app::StreamClock::time_point start) {
  return Generation(session, options).run(start);
}
