//===- Generate.cpp - generation of text from prompts ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "runtime/base/StandardOutput.h"

using namespace sluice;
using namespace sluice::run;

using interpreter::RowData;

namespace {

/// Executes the steps of all requests.
class Generation {
public:
  Generation(RunSession &session, const RunOptions &options)
      : session(session), options(options) {}

  Status run(RunClock::time_point start);

private:
  Status addRequests(RunClock::time_point start);
  Status execute(std::span<RunRequest> together);
  std::string print() const;

  RunSession &session;
  const RunOptions &options;
  std::vector<RunRequest> requests;
  int64_t steps = 0, rows = 0;
};

} // namespace

Status Generation::addRequests(RunClock::time_point start) {
  size_t count = options.prompts.size();
  requests.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Expected<std::vector<int32_t>> prompt = session.readPrompt(options, i);
    if (!prompt)
      return prompt.status();
    Expected<StopMatcher> stops = StopMatcher::create(options.stopStrings);
    if (!stops)
      return stops.status();
    requests.emplace_back(session, options, static_cast<SequenceId>(i),
                          stops.take(),
                          /*streams=*/count == 1 && !options.json);
    SLUICE_RETURN_IF_ERROR(requests.back().begin(prompt.take(), start));
  }
  return {};
}

/// Runs requests to their ends. Each step has rows of all requests that are not
/// finished.
Status Generation::execute(std::span<RunRequest> together) {
  auto count = static_cast<int64_t>(together.size());
  StepBatch batch(count * RunRequest::rowLimit(session, options),
                  count * RunRequest::outputLimit);
  std::vector<RunRequest *> running;
  for (RunRequest &request : together)
    running.push_back(&request);
  while (!running.empty()) {
    batch.clear();
    for (RunRequest *request : running)
      SLUICE_RETURN_IF_ERROR(request->schedule(batch));
    Expected<RowData> logits = session.interpreter().step(batch);
    if (!logits)
      return logits.status();
    ++steps;
    rows += batch.rows();
    int64_t output = 0;
    for (RunRequest *request : running)
      SLUICE_RETURN_IF_ERROR(request->accept(*logits, output));
    std::erase_if(running,
                  [](RunRequest *request) { return request->finished(); });
  }
  return {};
}

std::string Generation::print() const {
  text::JsonWriter json;
  if (options.json && requests.size() == 1) {
    requests.front().writeJson(json);
    return json.text();
  }
  if (options.json) {
    json.beginObject();
    json.key("requests").beginArray();
    for (const RunRequest &request : requests)
      request.writeJson(json);
    json.endArray();
    json.key("steps").number(steps);
    json.key("rows").number(rows);
    json.endObject();
    return json.text();
  }
  // The text of a single request has been written while it was generated.
  std::string text;
  for (size_t i = 0; requests.size() > 1 && i < requests.size(); ++i)
    text += (i ? "\n" : "") + requests[i].text();
  return text;
}

Status Generation::run(RunClock::time_point start) {
  SLUICE_RETURN_IF_ERROR(addRequests(start));
  size_t together = session.interpreter().isFused() ? requests.size() : 1;
  for (size_t first = 0; first < requests.size(); first += together)
    SLUICE_RETURN_IF_ERROR(
        execute(std::span(requests).subspan(first, together)));
  return writeOutput(print() + "\n");
}

Status sluice::run::generate(RunSession &session, const RunOptions &options,
                             RunClock::time_point start) {
  if (!options.stopStrings.empty() && !session.tokenizer())
    return failure("--stop: this model has no tokenizer");
  return Generation(session, options).run(start);
}
